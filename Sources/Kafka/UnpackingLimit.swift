import CUnpackingLimit

/// The limit of the unpacked size of one broker's answer, whatever sizes its batches claim. librdkafka itself limits
/// only Zstandard, and only each batch by itself.
///
/// librdkafka cannot read a batch that exceeds the limit (`_BAD_COMPRESSION`). If several batches of one answer
/// together exceed the limit, the first batch over the limit fails, and comes again as the first of the next answer.
/// gzip counts twice, because librdkafka unpacks it twice. Snappy does not count: it unpacks to at most 22 times its
/// size.
enum UnpackingLimit {
    static let bytesPerAnswer = 64 * 1024 * 1024

    /// Starts the count for one answer, on the thread that will parse it.
    static func begin() { unpacking_limit_set(bytesPerAnswer) }
}
