import CUnpackingLimit

/// The limit of the unpacked size of one broker's answer, whatever its batches claim to hold. librdkafka itself bounds
/// only Zstandard, and each batch by itself.
///
/// A batch that passes the limit cannot be read (`_BAD_COMPRESSION`). If several batches of one answer pass it
/// together, the first batch over the limit fails, and is read again as the first of the next answer. gzip counts
/// twice, because librdkafka unpacks it twice. Snappy is not counted: it makes at most 22 times as much of its bytes.
enum UnpackingLimit {
    static let bytesPerAnswer = 64 * 1024 * 1024

    /// Begins the count, on the thread that is about to read an answer.
    static func begin() { unpacking_limit_set(bytesPerAnswer) }
}
