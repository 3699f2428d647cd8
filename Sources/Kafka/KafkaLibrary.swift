import CRDKafka

/// The librdkafka this process is linked with, which need not be the one it was compiled with.
public enum KafkaLibrary {
    /// `0xMMmmrrxx`: major, minor, revision, pre-release (0xff = release).
    public static var version: Int32 { rd_kafka_version() }
    static var versionString: String { String(cString: rd_kafka_version_str()) }
}
