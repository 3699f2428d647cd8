import CUnpackingLimit

/// The unpacked size of one answer of a broker, whatever its batches claim to hold: librdkafka itself bounds only
/// Zstandard, and each batch by itself.
///
/// A batch that passes it cannot be read (`_BAD_COMPRESSION`). The first of several batches in one answer that passes
/// the limit fails, and is read again in the next answer, as the first one. gzip counts twice, for librdkafka unpacks
/// it twice. Snappy is not counted: it makes at most 22 times as much of its bytes.
enum UnpackingLimit {
    static let bytesPerAnswer = 64 * 1024 * 1024

    /// Begins the count, on the thread that is about to read an answer.
    static func begin() { unpacking_limit_set(bytesPerAnswer) }
}
