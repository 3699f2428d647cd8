import CRDKafka

/// The librdkafka that this process runs with. Its version may differ from the version of the build.
public enum KafkaLibrary {
    /// `0xMMmmrrxx`: major, minor, revision, pre-release (0xff = release).
    public static var version: Int32 { rd_kafka_version() }
    static var versionString: String { String(cString: rd_kafka_version_str()) }
}
