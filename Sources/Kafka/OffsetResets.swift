import Synchronization

/// Notes the offsets at which librdkafka found the next record deleted, and continued at the earliest record.
/// librdkafka reports such a reset only in its log. Any thread may use this object.
final class OffsetResets: Sendable {
    private let places = Mutex<[TopicPartition: [Int64]]>([:])

    func note(_ line: KafkaLogLine) {
        guard let place = line.offsetReset else { return }
        places.withLock { $0[place.topicPartition, default: []].append(place.offset) }
    }

    func take(of partition: TopicPartition, below offset: Int64) -> [Int64] {
        places.withLock { places in
            guard let known = places[partition] else { return [] }
            let left = known.filter { $0 >= offset }
            places[partition] = left.isEmpty ? nil : left
            return known.filter { $0 < offset }
        }
    }
}

extension KafkaLogLine {
    /// The offset that librdkafka did not find, and its partition. Nil if the line reports no offset reset.
    public var offsetReset: KafkaError.Place? {
        guard facility == "OFFSET", level <= 4 else { return nil }
        // The line is "[thrd:main]: submissions [3]: offset reset (at offset 500, broker 1) to …". The text after the
        // offset varies with librdkafka's version.
        let words = message.split(separator: " ")
        let phrase: [Substring] = ["offset", "reset", "(at", "offset"]
        guard let start = words.indices.first(where: { words[$0...].starts(with: phrase) }), start >= 2,
            start + phrase.count < words.count,
            let partition = Int32(words[start - 1].drop { $0 == "[" }.prefix { $0.isNumber }),
            let offset = Int64(words[start + phrase.count].prefix { $0.isNumber })
        else { return nil }
        return KafkaError.Place(
            topicPartition: TopicPartition(topic: String(words[start - 2]), partition: partition), offset: offset)
    }
}

extension KafkaConsumer {
    /// Returns the offsets below `offset` at which librdkafka found the partition's next record deleted, and continued
    /// at the earliest record. Returns each such offset once. `poll` first returns the records fetched before a reset,
    /// and then those fetched after it.
    public func takeResets(of partition: TopicPartition, below offset: Int64) -> [Int64] {
        context.resets.take(of: partition, below: offset)
    }
}
