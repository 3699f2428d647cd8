import CUnpackingLimit

/// Limits the unpacked size of each answer from a broker, whatever sizes the answer's batches claim. librdkafka itself
/// limits only batches in Zstandard, and limits each batch alone.
///
/// librdkafka cannot read a batch that exceeds the limit (`_BAD_COMPRESSION`). If several batches of one answer
/// together exceed the limit, the first batch over the limit fails, and comes again as the first of the next answer. A
/// gzip batch counts twice, because librdkafka unpacks it twice. A Snappy batch does not count, because it unpacks to
/// at most 22 times its size.
enum UnpackingLimit {
    static let bytesPerAnswer = 64 * 1024 * 1024

    /// Starts the count for one answer, on the thread that will parse it.
    static func begin() { unpacking_limit_set(bytesPerAnswer) }
}
