//! Arrow's columns as slices of their memory, to be encoded (avro/rows.rs).

/// The values of a column, of a field or of elements.
pub struct View<'a> {
    /// How many values there are
    pub length: usize,
    validity: Option<Bits<'a>>,
    /// The place of a null holds any value
    pub values: Values<'a>,
}

/// Values by type. A slice has the view's length; offsets are one more, and ascend within what they lead to.
pub enum Values<'a> {
    /// 0 or 1
    Boolean(Bits<'a>),
    /// tinyint
    Int8(&'a [i8]),
    /// smallint
    Int16(&'a [i16]),
    /// int, or days since 1970
    Int32(&'a [i32]),
    /// bigint
    Int64(&'a [i64]),
    /// Microseconds since 1970
    Micros(&'a [i64]),
    /// float
    Float32(&'a [f32]),
    /// double
    Float64(&'a [f64]),
    /// Unscaled numbers, little-endian
    Decimal(&'a [[u8; 16]]),
    /// Text or binary: value n is the bytes between offsets n and n + 1
    Bytes(&'a [i32], &'a [u8]),
    /// List n has the elements between offsets n and n + 1
    List(&'a [i32], Box<View<'a>>),
    /// Map n has the entries between offsets n and n + 1; the number is the place of entry 0 in keys and values
    Map(&'a [i32], Box<[View<'a>; 2]>, usize),
    /// The fields, and the place of struct 0 in each of them
    Struct(Vec<View<'a>>, usize),
}

/// A bitmap whose bit 0 is bit `first` of the bytes.
#[derive(Clone, Copy)]
pub struct Bits<'a> {
    bytes: &'a [u8],
    first: usize,
}

impl<'a> Bits<'a> {
    /// Returns the bits of `bytes` that begin with bit `first`.
    pub fn new(bytes: &'a [u8], first: usize) -> Self {
        Bits { bytes, first }
    }

    /// Whether bit `place` is set.
    #[inline(always)]
    pub fn get(&self, place: usize) -> bool {
        let bit = self.first + place;
        self.bytes[bit / 8] >> (bit % 8) & 1 == 1
    }
}

impl<'a> View<'a> {
    /// `validity`: None if no value is null.
    pub fn new(length: usize, validity: Option<Bits<'a>>, values: Values<'a>) -> Self {
        View { length, validity, values }
    }

    /// Whether value `place` is null.
    #[inline(always)]
    pub fn is_null(&self, place: usize) -> bool {
        self.validity.is_some_and(|bits| !bits.get(place))
    }
}
