import Kafka
import Testing

@testable import Pipeline

@Suite("The window of submissions in flight")
struct IntakeWindowTests {
    @Test("the window is full at its maximum of records, and the intake resumes at half of the maximum")
    func records() {
        var window = IntakeWindow(maximumRecords: 10)
        for _ in 0..<9 { window.admit(bytes: 1) }
        #expect(!window.isFull)
        window.admit(bytes: 1)
        #expect(window.isFull)
        for _ in 0..<4 { window.release(bytes: 1) }
        #expect(!window.isFull)
        #expect(!window.mayResume(beside: WorkSlots.Places()))
        window.release(bytes: 1)
        #expect(window.mayResume(beside: WorkSlots.Places()))
    }

    @Test("the intake resumes once half of the window's places are free, not counting places that retries hold")
    func beside() {
        var window = IntakeWindow(maximumRecords: 40)
        for _ in 0..<40 { window.admit(bytes: 1) }
        for _ in 0..<10 { window.release(bytes: 1) }
        #expect(!window.mayResume(beside: WorkSlots.Places()))
        #expect(!window.mayResume(beside: WorkSlots.Places(records: 19, bytes: 19)))
        #expect(window.mayResume(beside: WorkSlots.Places(records: 20, bytes: 20)))
    }

    @Test("the window is full at its maximum of bytes, which its last record may exceed")
    func bytes() {
        var window = IntakeWindow(maximumRecords: 10)
        window.admit(bytes: IntakeWindow.maximumBytes - 1)
        #expect(!window.isFull)
        #expect(!window.mayResume(beside: WorkSlots.Places()))
        window.admit(bytes: 1 << 20)
        #expect(window.isFull)
        window.release(bytes: IntakeWindow.maximumBytes - 1)
        #expect(window.mayResume(beside: WorkSlots.Places()))
        window.release(bytes: 1 << 20)
        #expect((window.records, window.bytes) == (0, 0))
    }

    @Test("with a window of one record, the intake resumes when the window is empty")
    func one() {
        var window = IntakeWindow(maximumRecords: 1)
        window.admit(bytes: 1)
        #expect(window.isFull)
        #expect(!window.mayResume(beside: WorkSlots.Places()))
        window.release(bytes: 1)
        #expect(window.mayResume(beside: WorkSlots.Places()))
    }

    @Test("a record's size in the window is the size of key, value and headers, plus a fixed size per header")
    func weight() {
        let plain = Sample.inFlight(record: Sample.record(value: [1, 2, 3]))
        #expect(plain.admitted.byteCount == 3)
        let tombstone = Sample.inFlight(record: Sample.record(key: [1, 2], value: nil))
        #expect(tombstone.admitted.byteCount == 2)
        let header = KafkaHeader(name: "", value: nil)
        let headed = Sample.inFlight(record: Sample.record(headers: Array(repeating: header, count: 1000)))
        #expect(headed.admitted.byteCount == 1000 * PipelineLimits.bytesPerHeader)
        let named = Sample.inFlight(record: Sample.record(headers: [KafkaHeader(name: "ab", value: [1])]))
        #expect(named.admitted.byteCount == PipelineLimits.bytesPerHeader + 3)
    }
}
