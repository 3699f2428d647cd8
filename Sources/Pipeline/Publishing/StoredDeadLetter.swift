import Fulfillment
import Kafka
import NamesAndTimes

/// A record of the dead-letter topic, with the data of its headers.
public struct StoredDeadLetter: Sendable, Comparable {
    /// The longest key that is shown, in bytes.
    private static let maximumKeyBytes = 512

    public let place: TopicPartition
    public let offset: Int64
    public let timestampMilliseconds: Int64?
    public let reason: String
    public let detail: String
    public let sourceTopic: String
    public let sourcePartition: Int32?
    public let sourceOffset: Int64?
    /// The length of the original value in bytes.
    public let length: Int
    /// True if the dead letter has only the beginning of the value. Also true for an unreadable batch, of which the
    /// dead letter has no bytes.
    public let isExcerpt: Bool
    /// The owner of the original record: the sender in its value, or its key.
    public let owner: Owner
    /// The dead letter itself; nil if only the other members are in memory.
    public let record: ConsumerRecord?

    /// The owner of a record, as far as receiptd can read it. Nothing verifies this data.
    public struct Owner: Sendable, Equatable {
        public var submissionID: String?
        public var playerID: String?
        public var bundleID: String?
        /// The record's key; nil if there is none, or if the key is not text or too long.
        public var key: String?
    }

    public init(_ record: ConsumerRecord) {
        func text(_ header: DeadLetterHeader) -> String? { header.text(in: record) }
        // An unreadable batch has no original record.
        let isUnreadable = text(.reason) == DeadLetter.Reason.unreadableBatch.rawValue
        let fullLength = text(.valueLength).flatMap { Int($0) }
        self.init(
            place: record.topicPartition, offset: record.offset, timestampMilliseconds: record.timestampMilliseconds,
            reason: text(.reason) ?? "", detail: text(.detail) ?? "", sourceTopic: text(.topic) ?? "",
            sourcePartition: text(.partition).flatMap { Int32($0) },
            sourceOffset: text(.offset).flatMap { Int64($0) },
            length: fullLength ?? record.value?.count ?? 0, isExcerpt: fullLength != nil || isUnreadable,
            owner: Self.owner(of: record), record: record)
    }

    private static func owner(of record: ConsumerRecord) -> Owner {
        var owner = Owner()
        if let key = record.key, key.count <= Self.maximumKeyBytes {
            owner.key = String(validating: key, as: UTF8.self)
        }
        switch SubmissionDecoder().decode(record.value ?? [], signatureHeaders: []) {
        case .submission(let submission):
            owner.submissionID = submission.submissionID.text
            owner.playerID = submission.playerID.text
            owner.bundleID = submission.bundleID.text
        case .deadLetter(let letter):
            owner.submissionID = letter.sender?.submissionID.text
            owner.playerID = letter.sender?.playerID.text
            owner.bundleID = letter.sender?.bundleID?.text
        }
        return owner
    }

    private init(
        place: TopicPartition, offset: Int64, timestampMilliseconds: Int64?, reason: String, detail: String,
        sourceTopic: String, sourcePartition: Int32?, sourceOffset: Int64?, length: Int, isExcerpt: Bool,
        owner: Owner, record: ConsumerRecord?
    ) {
        self.place = place
        self.offset = offset
        self.timestampMilliseconds = timestampMilliseconds
        self.reason = reason
        self.detail = detail
        self.sourceTopic = sourceTopic
        self.sourcePartition = sourcePartition
        self.sourceOffset = sourceOffset
        self.length = length
        self.isExcerpt = isExcerpt
        self.owner = owner
        self.record = record
    }

    public var withoutRecord: StoredDeadLetter {
        StoredDeadLetter(
            place: place, offset: offset, timestampMilliseconds: timestampMilliseconds, reason: reason, detail: detail,
            sourceTopic: sourceTopic, sourcePartition: sourcePartition, sourceOffset: sourceOffset, length: length,
            isExcerpt: isExcerpt, owner: owner, record: nil)
    }

    /// The position of the original record; nil if the headers lack it. Then receiptd did not write this dead letter.
    public var source: (partition: TopicPartition, offset: Int64)? {
        guard !sourceTopic.isEmpty, let sourcePartition, let sourceOffset else { return nil }
        return (TopicPartition(topic: sourceTopic, partition: sourcePartition), sourceOffset)
    }

    /// Returns the original record, with its key, value and headers. Nil if the value is incomplete or the position
    /// unknown.
    public func original(to topic: String) -> ProducerRecord? {
        guard let record, !isExcerpt, source != nil else { return nil }
        return ProducerRecord(
            topic: topic, partition: nil, key: record.key, value: record.value,
            headers: record.headers.filter { !$0.name.hasPrefix(DeadLetterHeader.prefix) }, timestampMilliseconds: nil)
    }

    public static func == (left: StoredDeadLetter, right: StoredDeadLetter) -> Bool {
        (left.place, left.offset) == (right.place, right.offset)
    }

    /// Orders by time, then by position on the dead-letter topic. A record without a time comes first.
    public static func < (left: StoredDeadLetter, right: StoredDeadLetter) -> Bool {
        (left.timestampMilliseconds ?? 0, left.place, left.offset)
            < (right.timestampMilliseconds ?? 0, right.place, right.offset)
    }
}
