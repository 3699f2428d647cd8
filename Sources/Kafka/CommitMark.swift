/// A group's commit for one partition.
public struct CommitMark: Hashable, Sendable {
    /// The next offset to read.
    public var offset: Int64
    /// ASCII, at most 4096 bytes by the broker's default (`offset.metadata.max.bytes`).
    public var metadata: String

    public init(offset: Int64, metadata: String = "") {
        self.offset = offset
        self.metadata = metadata
    }
}
