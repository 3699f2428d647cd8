import Crypto
import Fulfillment
import Kafka
import Testing

@testable import Pipeline

@Suite("The record of a dead letter")
struct DeadLetterRecordTests {
    private let letter = DeadLetter(reason: .malformedMessage, detail: "not JSON")
    private let header = KafkaHeader(name: "own", value: nil)

    private func text(_ record: ProducerRecord, _ name: String) -> String? {
        record.headers.last { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) }
    }

    private func excerpt(_ record: ConsumerRecord) -> ProducerRecord {
        DeadLetterRecord.excerpt(letter, of: record, position: Sample.position(record), topic: "dead")
    }

    @Test("a dead letter keeps the record's key, value and headers, and adds the reason and the record's position")
    func whole() {
        let record = Sample.record(offset: 9, key: [0xFF], value: [0, 1], headers: [header, header])
        let made = DeadLetterRecord.make(letter, of: record, position: Sample.position(record), topic: "dead")
        #expect(made.topic == "dead")
        #expect(made.key == [0xFF])
        #expect(made.value == [0, 1])
        #expect(Array(made.headers.prefix(2)) == [header, header])
        #expect(text(made, "dead-letter-reason") == "malformed_message")
        #expect(text(made, "dead-letter-detail") == "not JSON")
        #expect(text(made, "dead-letter-topic") == Sample.submissions)
        #expect(text(made, "dead-letter-partition") == "0")
        #expect(text(made, "dead-letter-offset") == "9")
        #expect(made.headers.count == 7)
    }

    @Test("the dead letter of a record without a value has no value")
    func tombstone() {
        let record = Sample.record(value: nil)
        let made = DeadLetterRecord.make(letter, of: record, position: Sample.position(record), topic: "dead")
        #expect(made.value == nil)
        #expect(made.key == nil)
    }

    @Test("a dead letter's excerpt has the value's first 64 KiB, and the whole value's length and SHA-256")
    func excerpt() {
        let value = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        let made = excerpt(Sample.record(key: [1], value: value, headers: [header]))
        #expect(made.value == Array(value.prefix(65_536)))
        #expect(text(made, "dead-letter-value-length") == "100000")
        let digest = SHA256.hash(data: value).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
        #expect(text(made, "dead-letter-value-sha256") == digest)
        #expect(made.key == [1])
        #expect(made.headers.first == header)
    }

    @Test("a dead letter's excerpt omits a key that is too large, and omits headers that are too large")
    func largeParts() {
        let large = [UInt8](repeating: 7, count: 70_000)
        let largeKey = excerpt(Sample.record(key: large, value: [1], headers: [header]))
        #expect(largeKey.key == nil)
        #expect(largeKey.headers.first == header)
        let own = KafkaHeader(name: "own", value: large)
        let largeHeader = excerpt(Sample.record(key: [1], value: [1], headers: [own]))
        #expect(largeHeader.key == [1])
        #expect(text(largeHeader, "own") == nil)
        let many = excerpt(Sample.record(headers: Array(repeating: KafkaHeader(name: "", value: nil), count: 10_000)))
        #expect(many.headers.count == 7)
    }
}
