//! librdkafka's consumer. The structs are those of rdkafka.h, which do not change within librdkafka 2.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::slice;

use libloading::os::unix;

use crate::Outcome;

const CONSUMER: c_int = 1;
const TIMEOUT_MS: c_int = 30_000;
const PAUSE_MS: c_int = 50;
/// Messages of one C call; few enough to be still in the processor's cache when they are decoded.
const AT_ONCE: usize = 1024;

/// What makes librdkafka fastest for records that exist already.
const PROPERTIES: [(&str, &str); 6] = [
    ("group.id", "bare"),
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    ("fetch.queue.backoff.ms", "10"),
    ("fetch.wait.max.ms", "20"),
    ("queued.max.messages.kbytes", "8192"),
];

type Handle = *mut c_void;

#[repr(C)]
struct Message {
    err: c_int,
    topic: *const c_void,
    partition: i32,
    payload: *const u8,
    length: usize,
    key: *const u8,
    key_length: usize,
    offset: i64,
    private: *const c_void,
}

#[repr(C)]
struct Place {
    topic: *const c_char,
    partition: i32,
    offset: i64,
    metadata: *const c_void,
    metadata_size: usize,
    opaque: *const c_void,
    err: c_int,
    private: *const c_void,
}

#[repr(C)]
struct TopicMetadata {
    name: *const c_char,
    partition_count: c_int,
    partitions: *const c_void,
    err: c_int,
}

#[repr(C)]
struct Metadata {
    broker_count: c_int,
    brokers: *const c_void,
    topic_count: c_int,
    topics: *const TopicMetadata,
    broker_id: i32,
    broker_name: *const c_char,
}

macro_rules! functions {
    ($($name:ident: ($($argument:ty),*) -> $result:ty;)*) => {
        /// librdkafka's functions that are used, by their names in C, and the library that holds them.
        pub struct Library { $($name: unsafe extern "C" fn($($argument),*) -> $result,)* _library: unix::Library }

        impl Library {
            /// Load the shared library at `path`.
            pub fn load(path: &str) -> Outcome<Self> {
                // SAFETY: librdkafka's initializers have no conditions; the signatures are those of rdkafka.h.
                unsafe {
                    let library = unix::Library::new(path).map_err(|error| error.to_string())?;
                    Ok(Library {
                        $($name: *library.get(stringify!($name).as_bytes()).map_err(|error| error.to_string())?,)*
                        _library: library,
                    })
                }
            }
        }
    };
}

functions! {
    rd_kafka_err2str: (c_int) -> *const c_char;
    rd_kafka_conf_new: () -> *mut c_void;
    rd_kafka_conf_set: (*mut c_void, *const c_char, *const c_char, *mut c_char, usize) -> c_int;
    rd_kafka_new: (c_int, *mut c_void, *mut c_char, usize) -> Handle;
    rd_kafka_destroy: (Handle) -> ();
    rd_kafka_poll_set_consumer: (Handle) -> c_int;
    rd_kafka_queue_get_consumer: (Handle) -> *mut c_void;
    rd_kafka_queue_destroy: (*mut c_void) -> ();
    rd_kafka_metadata: (Handle, c_int, *const c_void, *mut *const Metadata, c_int) -> c_int;
    rd_kafka_metadata_destroy: (*const Metadata) -> ();
    rd_kafka_query_watermark_offsets: (Handle, *const c_char, i32, *mut i64, *mut i64, c_int) -> c_int;
    rd_kafka_topic_partition_list_new: (c_int) -> *mut c_void;
    rd_kafka_topic_partition_list_add: (*mut c_void, *const c_char, i32) -> *mut Place;
    rd_kafka_topic_partition_list_destroy: (*mut c_void) -> ();
    rd_kafka_assign: (Handle, *const c_void) -> c_int;
    rd_kafka_consume_batch_queue: (*mut c_void, c_int, *mut *mut Message, usize) -> isize;
    rd_kafka_message_destroy: (*mut Message) -> ();
}

impl Library {
    fn checked(&self, code: c_int) -> Outcome<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: a static text that ends with NUL.
        Err(unsafe { CStr::from_ptr((self.rd_kafka_err2str)(code)) }.to_string_lossy().into_owned())
    }
}

fn c_string(text: &str) -> CString {
    CString::new(text).expect("no argument can hold NUL")
}

/// A consumer with its queue.
pub struct Consumer<'a> {
    library: &'a Library,
    handle: Handle,
    queue: *mut c_void,
}

impl<'a> Consumer<'a> {
    pub fn new(library: &'a Library, bootstrap: &str) -> Outcome<Self> {
        let mut reason = [0; 512];
        // SAFETY: all texts end with NUL; `rd_kafka_new` takes the configuration over.
        unsafe {
            let conf = (library.rd_kafka_conf_new)();
            for (name, value) in PROPERTIES.into_iter().chain([("bootstrap.servers", bootstrap)]) {
                let (name, value) = (c_string(name), c_string(value));
                let code = (library.rd_kafka_conf_set)(conf, name.as_ptr(), value.as_ptr(), reason.as_mut_ptr(), reason.len());
                if code != 0 {
                    return Err(CStr::from_ptr(reason.as_ptr()).to_string_lossy().into_owned());
                }
            }
            let handle = (library.rd_kafka_new)(CONSUMER, conf, reason.as_mut_ptr(), reason.len());
            if handle.is_null() {
                return Err(CStr::from_ptr(reason.as_ptr()).to_string_lossy().into_owned());
            }
            library.checked((library.rd_kafka_poll_set_consumer)(handle))?;
            Ok(Consumer { library, handle, queue: (library.rd_kafka_queue_get_consumer)(handle) })
        }
    }

    /// Return each topic partition's number and the end of its log.
    pub fn ends(&self, topic: &str) -> Outcome<Vec<(i32, i64)>> {
        (0..self.partition_count(topic)?).map(|number| Ok((number, self.end(topic, number)?))).collect()
    }

    fn partition_count(&self, topic: &str) -> Outcome<i32> {
        let mut metadata = null();
        // SAFETY: the handle lives; librdkafka fills the struct, whose arrays are as long as it says.
        unsafe {
            let code = (self.library.rd_kafka_metadata)(self.handle, 1, null(), &mut metadata, TIMEOUT_MS);
            self.library.checked(code)?;
            let topics = slice::from_raw_parts((*metadata).topics, (*metadata).topic_count as usize);
            let count = topics.iter().find(|t| CStr::from_ptr(t.name).to_bytes() == topic.as_bytes()).map(|t| t.partition_count);
            (self.library.rd_kafka_metadata_destroy)(metadata);
            count.ok_or(format!("there is no topic {topic}"))
        }
    }

    fn end(&self, topic: &str, number: i32) -> Outcome<i64> {
        let (mut low, mut high, topic) = (0, 0, c_string(topic));
        // SAFETY: the handle lives, the text ends with NUL.
        let code = unsafe {
            (self.library.rd_kafka_query_watermark_offsets)(self.handle, topic.as_ptr(), number, &mut low, &mut high, TIMEOUT_MS)
        };
        self.library.checked(code)?;
        Ok(high)
    }

    /// Read these topic partitions from offset 0.
    pub fn assign(&self, topic: &str, share: &[(i32, i64)]) -> Outcome<()> {
        let topic = c_string(topic);
        // SAFETY: the list is ours, each element is in it, and librdkafka copies list and name.
        let code = unsafe {
            let list = (self.library.rd_kafka_topic_partition_list_new)(share.len() as c_int);
            for (number, _) in share {
                (*(self.library.rd_kafka_topic_partition_list_add)(list, topic.as_ptr(), *number)).offset = 0;
            }
            let code = (self.library.rd_kafka_assign)(self.handle, list);
            (self.library.rd_kafka_topic_partition_list_destroy)(list);
            code
        };
        self.library.checked(code)
    }

    /// Hand the values of the next records, at most `most`, to `take`, straight from librdkafka's memory; return how many.
    pub fn consume(&self, most: i64, mut take: impl FnMut(&[u8]) -> Outcome<()>) -> Outcome<usize> {
        let mut messages = [const { MaybeUninit::<*mut Message>::uninit() }; AT_ONCE];
        let most = AT_ONCE.min(most as usize);
        // SAFETY: librdkafka fills as many pointers as it returns; each message lives until it is destroyed.
        unsafe {
            let count = (self.library.rd_kafka_consume_batch_queue)(self.queue, PAUSE_MS, messages.as_mut_ptr().cast(), most);
            let count = usize::try_from(count).map_err(|_| "consume failed")?;
            for message in &messages[..count] {
                let message = message.assume_init();
                self.library.checked((*message).err)?;
                take(slice::from_raw_parts((*message).payload, (*message).length))?;
                (self.library.rd_kafka_message_destroy)(message);
            }
            Ok(count)
        }
    }
}

impl Drop for Consumer<'_> {
    fn drop(&mut self) {
        // SAFETY: both are owned, and no message exists.
        unsafe {
            (self.library.rd_kafka_queue_destroy)(self.queue);
            self.queue = null_mut();
            (self.library.rd_kafka_destroy)(self.handle);
        }
    }
}
