//! librdkafka's C functions, its consumer and its messages. The fetch has no other unsafe code.
//!
//! What the unsafe code relies on:
//! - The functions and structs are those of rdkafka.h, which have not changed in librdkafka 2: `Library::load` takes no
//!   other major version, and only a library that has every function. The library is never unloaded.
//! - `Client` owns its handle, and may be used by any number of threads, as librdkafka may.
//! - librdkafka must not destroy a handle while messages exist: `Messages` own a part of their client.
//! - librdkafka's threads do not exist in a forked child, where its locks may be held forever: there no call is made, and
//!   what is dropped is leaked.
//! - The callbacks get `Heard`, which lives as long as the handle.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::mem::transmute;
use std::process;
use std::ptr::{null, null_mut};
use std::slice::from_raw_parts;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A code and a text of librdkafka.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// `rd_kafka_resp_err_t`
    pub code: i32,
    /// Its description
    pub text: String,
}

/// Code of librdkafka for a wrong argument or property.
const INVALID_ARGUMENT: i32 = -186;
/// Code of librdkafka for a call in a wrong state.
const WRONG_STATE: i32 = -172;
const CONSUMER: c_int = 1;
const NO_CONSUMER_CLOSE: c_int = 8;
const MAJOR_VERSION: i32 = 2;
/// Messages of one C call; few enough to be still in the processor's cache when they are copied.
const AT_ONCE: usize = 1024;
/// Log lines, and errors, that are kept between two calls of `Client::heard`.
const MOST_HEARD: usize = 1000;

type Topic = *const c_void;

/// `rd_kafka_message_t`
#[repr(C)]
struct CMessage {
    err: c_int,
    topic: Topic,
    partition: i32,
    payload: *const u8,
    length: usize,
    key: *const u8,
    key_length: usize,
    offset: i64,
    private: *const c_void,
}

/// `rd_kafka_topic_partition_t`
#[repr(C)]
struct CTopicPartition {
    topic: *const c_char,
    partition: i32,
    offset: i64,
    metadata: *const c_void,
    metadata_size: usize,
    opaque: *const c_void,
    err: c_int,
    private: *const c_void,
}

/// `rd_kafka_topic_partition_list_t`
#[repr(C)]
struct CList {
    count: c_int,
    size: c_int,
    elements: *mut CTopicPartition,
}

type Handle = *mut c_void;
type Conf = *mut c_void;
type Queue = *mut c_void;
type LogCallback = unsafe extern "C" fn(Handle, c_int, *const c_char, *const c_char);
type ErrorCallback = unsafe extern "C" fn(Handle, c_int, *const c_char, *mut c_void);
type ThrottleCallback = unsafe extern "C" fn(Handle, *const c_char, i32, c_int, *mut c_void);

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

macro_rules! functions {
    ($($name:ident: ($($argument:ty),*) -> $result:ty;)*) => {
        /// Functions of the library, by their names in C.
        struct Functions { $($name: unsafe extern "C" fn($($argument),*) -> $result),* }

        impl Functions {
            /// SAFETY: `library` came from `dlopen`.
            unsafe fn of(library: *mut c_void) -> Result<Self, &'static str> {
                Ok(Functions { $($name: {
                    let found = dlsym(library, concat!(stringify!($name), "\0").as_ptr().cast());
                    if found.is_null() {
                        return Err(stringify!($name));
                    }
                    transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> $result>(found)
                }),* })
            }
        }
    };
}

functions! {
    rd_kafka_version: () -> c_int;
    rd_kafka_err2str: (c_int) -> *const c_char;
    rd_kafka_last_error: () -> c_int;
    rd_kafka_error_code: (*const c_void) -> c_int;
    rd_kafka_error_string: (*const c_void) -> *const c_char;
    rd_kafka_error_destroy: (*mut c_void) -> ();
    rd_kafka_conf_new: () -> Conf;
    rd_kafka_conf_destroy: (Conf) -> ();
    rd_kafka_conf_set: (Conf, *const c_char, *const c_char, *mut c_char, usize) -> c_int;
    rd_kafka_conf_set_opaque: (Conf, *mut c_void) -> ();
    rd_kafka_conf_set_log_cb: (Conf, LogCallback) -> ();
    rd_kafka_conf_set_error_cb: (Conf, ErrorCallback) -> ();
    rd_kafka_conf_set_throttle_cb: (Conf, ThrottleCallback) -> ();
    rd_kafka_new: (c_int, Conf, *mut c_char, usize) -> Handle;
    rd_kafka_opaque: (Handle) -> *mut c_void;
    rd_kafka_name: (Handle) -> *const c_char;
    rd_kafka_set_log_queue: (Handle, Queue) -> c_int;
    rd_kafka_poll_set_consumer: (Handle) -> c_int;
    rd_kafka_queue_get_consumer: (Handle) -> Queue;
    rd_kafka_queue_destroy: (Queue) -> ();
    rd_kafka_consumer_close: (Handle) -> c_int;
    rd_kafka_destroy_flags: (Handle, c_int) -> ();
    rd_kafka_consume_batch_queue: (Queue, c_int, *mut *mut CMessage, usize) -> isize;
    rd_kafka_message_destroy: (*mut CMessage) -> ();
    rd_kafka_message_errstr: (*const CMessage) -> *const c_char;
    rd_kafka_message_timestamp: (*const CMessage, *mut c_int) -> i64;
    rd_kafka_message_leader_epoch: (*const CMessage) -> i32;
    rd_kafka_message_headers: (*const CMessage, *mut *mut c_void) -> c_int;
    rd_kafka_header_get_all: (*const c_void, usize, *mut *const c_char, *mut *const u8, *mut usize) -> c_int;
    rd_kafka_topic_name: (Topic) -> *const c_char;
    rd_kafka_topic_partition_list_new: (c_int) -> *mut CList;
    rd_kafka_topic_partition_list_add: (*mut CList, *const c_char, i32) -> *mut CTopicPartition;
    rd_kafka_topic_partition_list_destroy: (*mut CList) -> ();
    rd_kafka_assign: (Handle, *const CList) -> c_int;
    rd_kafka_assignment: (Handle, *mut *mut CList) -> c_int;
    rd_kafka_incremental_unassign: (Handle, *const CList) -> *mut c_void;
    rd_kafka_position: (Handle, *mut CList) -> c_int;
    rd_kafka_offsets_for_times: (Handle, *mut CList, c_int) -> c_int;
}

static LOADED: OnceLock<(String, Functions)> = OnceLock::new();

/// The librdkafka of this process.
#[derive(Clone, Copy)]
pub struct Library(&'static Functions);

impl Library {
    /// Finds the library that the loaded shared object at `path` is, or is linked with. `flags` are those of `dlopen`.
    ///
    /// A process uses one library: another path than the first that fitted is an error.
    pub fn load(path: &str, flags: i32) -> Result<Self, String> {
        if LOADED.get().is_none() {
            let functions = find(path, flags)?;
            let _ = LOADED.set((path.to_owned(), functions)); // another thread may have been faster
        }
        match LOADED.get() {
            Some((loaded, functions)) if loaded == path => Ok(Library(functions)),
            _ => Err("this process uses another librdkafka already".into()),
        }
    }

    /// As `rd_kafka_version` gives it: major, minor, revision and pre-release, a byte each.
    pub fn version(self) -> i32 {
        // SAFETY: has no condition.
        unsafe { (self.0.rd_kafka_version)() }
    }

    fn error(self, code: i32) -> Error {
        // SAFETY: the text is static.
        Error { code, text: unsafe { text((self.0.rd_kafka_err2str)(code)) } }
    }

    fn checked(self, code: i32) -> Result<(), Error> {
        if code == 0 {
            return Ok(());
        }
        Err(self.error(code))
    }

    /// The error of this thread's last call, with the text that the call left in `buffer`.
    fn last_error(self, before: &str, buffer: &[c_char]) -> Error {
        // SAFETY: `buffer` ends with NUL: it was zeroed, and librdkafka ends its texts with NUL.
        let why = unsafe { text(buffer.as_ptr()) };
        // SAFETY: has no condition.
        Error { code: unsafe { (self.0.rd_kafka_last_error)() }, text: format!("{before}{why}") }
    }
}

fn find(path: &str, flags: i32) -> Result<Functions, String> {
    let c_path = CString::new(path).map_err(|error| error.to_string())?;
    // SAFETY: the path ends with NUL; what is loaded is never unloaded.
    let library = unsafe { dlopen(c_path.as_ptr(), flags) };
    if library.is_null() {
        return Err(format!("{path} is not loaded"));
    }
    // SAFETY: just opened.
    let functions = unsafe { Functions::of(library) }.map_err(|name| format!("it has no function {name}"))?;
    // SAFETY: has no condition.
    match unsafe { (functions.rd_kafka_version)() } >> 24 {
        MAJOR_VERSION => Ok(functions),
        major => Err(format!("its major version is {major}, not {MAJOR_VERSION}")),
    }
}

/// SAFETY: null, or a text that ends with NUL.
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    CStr::from_ptr(pointer).to_string_lossy().into_owned()
}

/// SAFETY: null, or memory of this length.
unsafe fn bytes<'a>(pointer: *const u8, length: usize) -> Option<&'a [u8]> {
    if pointer.is_null() {
        return None;
    }
    Some(from_raw_parts(pointer, length))
}

fn c_string(value: &str) -> Result<CString, Error> {
    CString::new(value).map_err(|_| Error { code: INVALID_ARGUMENT, text: "a text with a NUL character".into() })
}

/// A line of librdkafka's log.
pub struct LogLine {
    /// Syslog's, 0 (emergency) to 7 (debug)
    pub level: i32,
    /// Which part of librdkafka wrote it
    pub facility: String,
    /// Name of the client
    pub client: String,
    /// The line
    pub text: String,
}

/// What the callbacks of a client were called with.
#[derive(Default)]
pub struct Heard {
    /// Lines of the log
    pub lines: Vec<LogLine>,
    /// Errors of the client, such as a broker that is away
    pub errors: Vec<Error>,
    /// Brokers that delay their answers because of a quota, and for how many milliseconds
    pub throttles: Vec<(String, i32)>,
}

type Callbacks = Mutex<Heard>;

unsafe extern "C" fn on_log(handle: Handle, level: c_int, facility: *const c_char, line: *const c_char) {
    let Some((_, functions)) = LOADED.get() else { return };
    // SAFETY: the opaque is null or the callbacks, which outlive the handle; all texts end with NUL.
    let Some(heard) = (functions.rd_kafka_opaque)(handle).cast::<Callbacks>().as_ref() else { return };
    let client = text((functions.rd_kafka_name)(handle));
    let line = LogLine { level, facility: text(facility), client, text: text(line) };
    let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    if heard.lines.len() < MOST_HEARD {
        heard.lines.push(line);
    }
}

unsafe extern "C" fn on_error(_: Handle, code: c_int, reason: *const c_char, opaque: *mut c_void) {
    // SAFETY: as in `on_log`.
    let Some(heard) = opaque.cast::<Callbacks>().as_ref() else { return };
    let error = Error { code, text: text(reason) };
    let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    if heard.errors.len() < MOST_HEARD {
        heard.errors.push(error);
    }
}

unsafe extern "C" fn on_throttle(_: Handle, broker: *const c_char, _: i32, millis: c_int, opaque: *mut c_void) {
    // SAFETY: as in `on_log`.
    let Some(heard) = opaque.cast::<Callbacks>().as_ref() else { return };
    let throttle = (text(broker), millis);
    let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    if heard.throttles.len() < MOST_HEARD {
        heard.throttles.push(throttle);
    }
}

/// A topic partition with an offset; `code` is librdkafka's error about it, 0 without one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Name of the topic
    pub topic: String,
    /// Number of the topic partition
    pub number: i32,
    /// An offset, or one of librdkafka's values below 0
    pub offset: i64,
    /// `rd_kafka_resp_err_t`
    pub code: i32,
}

/// A list of topic partitions in C.
struct List {
    library: Library,
    pointer: *mut CList,
}

impl List {
    fn of(library: Library, places: &[Place]) -> Result<Self, Error> {
        // SAFETY: has no condition; librdkafka ends the process when it has no memory.
        let pointer = unsafe { (library.0.rd_kafka_topic_partition_list_new)(places.len() as c_int) };
        let list = List { library, pointer };
        for place in places {
            let topic = c_string(&place.topic)?;
            // SAFETY: the list is owned, the element is in it, and the name is copied.
            unsafe {
                let element = (library.0.rd_kafka_topic_partition_list_add)(pointer, topic.as_ptr(), place.number);
                (*element).offset = place.offset;
            }
        }
        Ok(list)
    }

    fn places(&self) -> Vec<Place> {
        // SAFETY: the list is owned, and has as many elements as it says.
        unsafe {
            let list = &*self.pointer;
            if list.count <= 0 {
                return vec![];
            }
            let elements = from_raw_parts(list.elements, list.count as usize);
            let place = |e: &CTopicPartition| Place { topic: text(e.topic), number: e.partition, offset: e.offset, code: e.err };
            elements.iter().map(place).collect()
        }
    }
}

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: owned, and not used after this.
        unsafe { (self.library.0.rd_kafka_topic_partition_list_destroy)(self.pointer) }
    }
}

/// A consumer for assigned topic partitions. The last `Arc` that is dropped destroys librdkafka's handle, and waits for it.
pub struct Client {
    library: Library,
    handle: Handle,
    queue: Queue,
    heard: *mut Callbacks,
    process: u32,
}

// SAFETY: librdkafka's functions may be called by any number of threads; `heard` is a mutex.
unsafe impl Send for Client {}
// SAFETY: as for Send.
unsafe impl Sync for Client {}

impl Client {
    /// Makes a consumer with these properties.
    pub fn new(library: Library, properties: &[(String, String)]) -> Result<Arc<Self>, Error> {
        let mut why = [0 as c_char; 512];
        // SAFETY: has no condition.
        let conf = Properties { library, pointer: unsafe { (library.0.rd_kafka_conf_new)() } };
        for (name, value) in properties {
            let (name, value) = (c_string(name)?, c_string(value)?);
            // SAFETY: the conf is owned, the texts end with NUL, the buffer has this size.
            let result = unsafe {
                (library.0.rd_kafka_conf_set)(conf.pointer, name.as_ptr(), value.as_ptr(), why.as_mut_ptr(), why.len())
            };
            if result != 0 {
                // SAFETY: the buffer ends with NUL.
                return Err(Error { code: INVALID_ARGUMENT, text: unsafe { text(why.as_ptr()) } });
            }
        }
        let heard: *mut Callbacks = Box::into_raw(Box::default());
        // SAFETY: the conf is owned until `rd_kafka_new` succeeds; `heard` is freed after the handle, or here.
        unsafe {
            (library.0.rd_kafka_conf_set_opaque)(conf.pointer, heard.cast());
            (library.0.rd_kafka_conf_set_log_cb)(conf.pointer, on_log);
            (library.0.rd_kafka_conf_set_error_cb)(conf.pointer, on_error);
            (library.0.rd_kafka_conf_set_throttle_cb)(conf.pointer, on_throttle);
            let handle = (library.0.rd_kafka_new)(CONSUMER, conf.pointer, why.as_mut_ptr(), why.len());
            if handle.is_null() {
                let error = library.last_error("Failed to create consumer: ", &why);
                drop(conf);
                drop(Box::from_raw(heard));
                return Err(error);
            }
            conf.taken();
            let queue = (library.0.rd_kafka_queue_get_consumer)(handle);
            let client = Client { library, handle, queue, heard, process: process::id() };
            library.checked((library.0.rd_kafka_set_log_queue)(handle, null_mut()))?;
            library.checked((library.0.rd_kafka_poll_set_consumer)(handle))?;
            Ok(Arc::new(client))
        }
    }

    fn is_forked(&self) -> bool {
        process::id() != self.process
    }

    fn check_process(&self) -> Result<(), Error> {
        if self.is_forked() {
            let text = format!("this consumer belongs to process {}, and does not survive a fork", self.process);
            return Err(Error { code: WRONG_STATE, text });
        }
        Ok(())
    }

    /// What the callbacks were called with since the last call.
    pub fn heard(&self) -> Heard {
        // SAFETY: lives as long as the client.
        std::mem::take(&mut *unsafe { &*self.heard }.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Assigns these topic partitions, each from its offset, instead of the earlier ones.
    pub fn assign(&self, places: &[Place]) -> Result<(), Error> {
        self.check_process()?;
        let list = List::of(self.library, places)?;
        // SAFETY: handle and list are owned; the list is copied.
        self.library.checked(unsafe { (self.library.0.rd_kafka_assign)(self.handle, list.pointer) })
    }

    /// Ends the assignment.
    pub fn unassign(&self) -> Result<(), Error> {
        self.check_process()?;
        // SAFETY: null means no topic partitions.
        self.library.checked(unsafe { (self.library.0.rd_kafka_assign)(self.handle, null()) })
    }

    /// The assignment, each with the offset that it was assigned at.
    pub fn assignment(&self) -> Result<Vec<Place>, Error> {
        self.check_process()?;
        let mut pointer = null_mut();
        // SAFETY: the list is given to the caller if there is no error.
        self.library.checked(unsafe { (self.library.0.rd_kafka_assignment)(self.handle, &mut pointer) })?;
        Ok(List { library: self.library, pointer }.places())
    }

    /// Removes these topic partitions from the assignment.
    pub fn incremental_unassign(&self, places: &[Place]) -> Result<(), Error> {
        self.check_process()?;
        let list = List::of(self.library, places)?;
        // SAFETY: handle and list are owned; the error is the caller's, its text lives as long as it does.
        unsafe {
            let error = (self.library.0.rd_kafka_incremental_unassign)(self.handle, list.pointer);
            if error.is_null() {
                return Ok(());
            }
            let code = (self.library.0.rd_kafka_error_code)(error);
            let text = text((self.library.0.rd_kafka_error_string)(error));
            (self.library.0.rd_kafka_error_destroy)(error);
            Err(Error { code, text })
        }
    }

    /// The offset after the last message that `consume` passed on, for each; below 0 if there was none.
    pub fn position(&self, places: &[Place]) -> Result<Vec<Place>, Error> {
        self.check_process()?;
        let list = List::of(self.library, places)?;
        // SAFETY: handle and list are owned.
        self.library.checked(unsafe { (self.library.0.rd_kafka_position)(self.handle, list.pointer) })?;
        Ok(list.places())
    }

    /// Asks the leaders for offsets; each place's offset is the timestamp, and becomes the answer.
    pub fn offsets_for_times(&self, places: &[Place], wait: Duration) -> Result<Vec<Place>, Error> {
        self.check_process()?;
        let list = List::of(self.library, places)?;
        let wait = milliseconds(wait);
        // SAFETY: handle and list are owned.
        self.library.checked(unsafe { (self.library.0.rd_kafka_offsets_for_times)(self.handle, list.pointer, wait) })?;
        Ok(list.places())
    }

    /// Passes the messages that come within `wait` to `take`, some at a time, and returns all of them with the events.
    ///
    /// There are at most `count` messages and events, and none after `bytes` of values.
    pub fn consume(
        self: &Arc<Self>,
        count: usize,
        bytes: usize,
        wait: Duration,
        mut take: impl FnMut(&[Message<'_>]),
    ) -> Result<(Messages, Vec<Event>), Error> {
        self.check_process()?;
        let until = Instant::now() + wait;
        let mut messages = Messages { client: self.clone(), pointers: vec![] };
        let mut events = vec![];
        let (mut left, mut size) = (count, 0);
        while left > 0 && size < bytes {
            let mut some = [null_mut::<CMessage>(); AT_ONCE];
            let asked = left.min(AT_ONCE);
            let wait = milliseconds(until.saturating_duration_since(Instant::now()));
            // SAFETY: the queue is owned, and there is room for so many messages.
            let given = unsafe { (self.library.0.rd_kafka_consume_batch_queue)(self.queue, wait, some.as_mut_ptr(), asked) };
            let Ok(given) = usize::try_from(given) else {
                return Err(self.library.last_error("", &[0]));
            };
            let before = messages.pointers.len();
            for pointer in some.into_iter().take(given) {
                // SAFETY: a message is ours until it is destroyed, here or with `messages`.
                let raw = unsafe { &*pointer };
                if raw.err == 0 {
                    size += raw.length;
                    messages.pointers.push(pointer);
                } else {
                    events.push(self.event(raw));
                    // SAFETY: ours, and not used after this.
                    unsafe { (self.library.0.rd_kafka_message_destroy)(pointer) }
                }
            }
            take(&messages.from(before));
            left -= given;
            if given < asked {
                break; // the time is over
            }
        }
        Ok((messages, events))
    }

    fn event(&self, raw: &CMessage) -> Event {
        // SAFETY: the message lives; its texts end with NUL.
        unsafe {
            let topic = (!raw.topic.is_null()).then(|| text((self.library.0.rd_kafka_topic_name)(raw.topic)));
            let error = Error { code: raw.err, text: text((self.library.0.rd_kafka_message_errstr)(raw)) };
            Event { topic, number: raw.partition, offset: raw.offset, error }
        }
    }

    /// Leaves the brokers. Nothing can be consumed after it.
    pub fn close(&self) -> Result<(), Error> {
        self.check_process()?;
        // SAFETY: the handle is owned.
        self.library.checked(unsafe { (self.library.0.rd_kafka_consumer_close)(self.handle) })
    }
}

fn milliseconds(time: Duration) -> c_int {
    c_int::try_from(time.as_micros().div_ceil(1000)).unwrap_or(c_int::MAX)
}

impl Drop for Client {
    fn drop(&mut self) {
        if self.is_forked() {
            return; // the threads that this would wait for are not in this process
        }
        // SAFETY: nothing uses the handle any more, and no message of it exists; `heard` outlives it.
        unsafe {
            (self.library.0.rd_kafka_queue_destroy)(self.queue);
            (self.library.0.rd_kafka_destroy_flags)(self.handle, NO_CONSUMER_CLOSE);
            drop(Box::from_raw(self.heard));
        }
    }
}

/// The properties of a client that is about to be made.
struct Properties {
    library: Library,
    pointer: Conf,
}

impl Properties {
    /// Do not free them: a client owns them.
    fn taken(self) {
        std::mem::forget(self);
    }
}

impl Drop for Properties {
    fn drop(&mut self) {
        // SAFETY: owned, and not used after this.
        unsafe { (self.library.0.rd_kafka_conf_destroy)(self.pointer) }
    }
}

/// An error that librdkafka delivers instead of a message, such as the end of a log.
pub struct Event {
    /// None if it is about the client
    pub topic: Option<String>,
    /// Number of the topic partition
    pub number: i32,
    /// The offset that it is about
    pub offset: i64,
    /// Code and text
    pub error: Error,
}

/// Records in the order of delivery. Dropping it gives them back to librdkafka.
pub struct Messages {
    client: Arc<Client>,
    pointers: Vec<*mut CMessage>,
}

// SAFETY: librdkafka's messages belong to no thread; what reads one takes `&mut self` or has the only reference.
unsafe impl Send for Messages {}

impl Messages {
    /// Each record from a place on.
    fn from(&self, start: usize) -> Vec<Message<'_>> {
        // SAFETY: the messages live as long as `self`.
        let message = |pointer: &*mut CMessage| Message { client: &self.client, raw: unsafe { &**pointer } };
        self.pointers[start..].iter().map(message).collect()
    }

    /// The headers of each record.
    pub fn headers(&mut self) -> impl Iterator<Item = Option<RawHeaders<'_>>> {
        self.from(0).into_iter().map(Message::headers)
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        if self.client.is_forked() {
            return; // librdkafka's locks may be held forever
        }
        for pointer in &self.pointers {
            // SAFETY: ours, and not used after this.
            unsafe { (self.client.library.0.rd_kafka_message_destroy)(*pointer) }
        }
    }
}

/// A record of Kafka.
#[derive(Clone, Copy)]
pub struct Message<'a> {
    client: &'a Client,
    raw: &'a CMessage,
}

/// Names and values of headers; a value may be null.
pub type RawHeaders<'a> = Vec<(&'a [u8], Option<&'a [u8]>)>;

impl<'a> Message<'a> {
    /// Equal for messages of one topic that exist at the same time.
    #[inline(always)]
    pub fn topic(self) -> usize {
        self.raw.topic as usize
    }

    /// Name of the topic.
    pub fn topic_name(self) -> String {
        // SAFETY: the topic lives as long as the message, its name ends with NUL.
        unsafe { text((self.client.library.0.rd_kafka_topic_name)(self.raw.topic)) }
    }

    /// Number of the topic partition.
    #[inline(always)]
    pub fn number(self) -> i32 {
        self.raw.partition
    }

    /// Its offset.
    #[inline(always)]
    pub fn offset(self) -> i64 {
        self.raw.offset
    }

    /// None for a tombstone.
    #[inline(always)]
    pub fn value(self) -> Option<&'a [u8]> {
        // SAFETY: librdkafka gives memory of this length, or null.
        unsafe { bytes(self.raw.payload, self.raw.length) }
    }

    /// None for a null key.
    #[inline(always)]
    pub fn key(self) -> Option<&'a [u8]> {
        // SAFETY: as for the value.
        unsafe { bytes(self.raw.key, self.raw.key_length) }
    }

    /// Milliseconds from 1970 UTC, -1 without a timestamp.
    #[inline(always)]
    pub fn timestamp(self) -> i64 {
        let mut kind = 0;
        // SAFETY: the message lives.
        unsafe { (self.client.library.0.rd_kafka_message_timestamp)(self.raw, &mut kind) }
    }

    /// Epoch of the leader that wrote it, -1 if it is not known.
    pub fn leader_epoch(self) -> i32 {
        // SAFETY: the message lives.
        unsafe { (self.client.library.0.rd_kafka_message_leader_epoch)(self.raw) }
    }

    /// None if it has none, or none that librdkafka can read.
    fn headers(self) -> Option<RawHeaders<'a>> {
        let functions = self.client.library.0;
        let mut list = null_mut();
        // SAFETY: the message lives, in one thread. What is found lives as long as the message.
        unsafe {
            if (functions.rd_kafka_message_headers)(self.raw, &mut list) != 0 {
                return None;
            }
            let mut found = vec![];
            let (mut name, mut value, mut length) = (null(), null(), 0);
            while (functions.rd_kafka_header_get_all)(list, found.len(), &mut name, &mut value, &mut length) == 0 {
                found.push((CStr::from_ptr(name).to_bytes(), bytes(value, length)));
            }
            Some(found)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_or_not_librdkafka_is_refused() {
        assert!(Library::load("/no/such/library.so", 1).is_err_and(|why| why.contains("is not loaded")));
        assert!(Library::load("with\0nul", 1).is_err());
        if cfg!(target_os = "linux") {
            assert!(Library::load("libc.so.6", 1).is_err_and(|why| why.contains("no function rd_kafka_version")));
        }
    }

    #[test]
    fn a_wait_is_rounded_up_so_that_it_does_not_spin() {
        assert_eq!(milliseconds(Duration::from_micros(1)), 1);
        assert_eq!(milliseconds(Duration::ZERO), 0);
        assert_eq!(milliseconds(Duration::from_secs(1 << 40)), c_int::MAX);
    }
}
