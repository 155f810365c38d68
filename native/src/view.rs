//! Columns of Arrow as they lie in memory, for what writes them (avro/rows.rs).

/// Values of one column, or of the fields and elements in it.
pub struct View<'a> {
    /// Values
    pub length: usize,
    validity: Option<Bits<'a>>,
    /// One for each that is not null; of the others any
    pub values: Values<'a>,
}

/// By type; each slice has the view's length, offsets one more.
pub enum Values<'a> {
    /// 0 or 1
    Boolean(Bits<'a>),
    /// tinyint
    Int8(&'a [i8]),
    /// smallint
    Int16(&'a [i16]),
    /// int, and days from 1970
    Int32(&'a [i32]),
    /// bigint
    Int64(&'a [i64]),
    /// Microseconds from 1970
    Micros(&'a [i64]),
    /// float
    Float32(&'a [f32]),
    /// double
    Float64(&'a [f64]),
    /// Unscaled, little-endian
    Decimal(&'a [[u8; 16]]),
    /// Text or binary: value n lies between offsets n and n + 1
    Bytes(&'a [i32], &'a [u8]),
    /// Elements n between offsets n and n + 1
    List(&'a [i32], Box<View<'a>>),
    /// The same, of keys and values; the place of the first entry in both
    Map(&'a [i32], Box<[View<'a>; 2]>, usize),
    /// The fields, and the place of the first struct's in each of them
    Struct(Vec<View<'a>>, usize),
}

/// Bits of a bitmap, from `first` on.
#[derive(Clone, Copy)]
pub struct Bits<'a> {
    bytes: &'a [u8],
    first: usize,
}

impl<'a> Bits<'a> {
    /// From bit `first` of `bytes` on.
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
    /// `validity`: none where nothing is null.
    pub fn new(length: usize, validity: Option<Bits<'a>>, values: Values<'a>) -> Self {
        View { length, validity, values }
    }

    /// Whether value `place` is null.
    #[inline(always)]
    pub fn is_null(&self, place: usize) -> bool {
        self.validity.is_some_and(|bits| !bits.get(place))
    }
}
