//! What the columns of one decoder share.

/// What all columns of a decoder share.
pub struct Context {
    /// Buffer for strings with escapes
    pub scratch: Vec<u8>,
    /// Whether the table's zone is UTC; otherwise the caller converts instants
    pub utc: bool,
    /// How many values leeway changed
    pub changed: Changed,
    /// How many objects were taken whole with NaN or an infinity in them
    pub with_non_finite: u64,
}

/// How many values leeway changed, by kind.
#[derive(Clone, Copy, Default)]
pub struct Changed {
    /// JSON values other than strings became texts
    pub json: u64,
    /// Strings were read as numbers or booleans
    pub quoted: u64,
    /// Empty strings became NULL
    pub empty: u64,
    /// Numbers with a point or an exponent were read as integers
    pub whole: u64,
    /// Words or numbers were read as booleans
    pub booleans: u64,
    /// Strings were read as numbers with marks
    pub numbers: u64,
    /// NaN and infinities became NULL or were kept
    pub non_finite: u64,
    /// Times that the column cannot hold became NULL, the first or the last time
    pub beyond: u64,
}
