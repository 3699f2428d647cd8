import Foundation
import Kafka

/// Adds every outcome and every dead letter that these tests see to the file that `RECEIPTD_TEST_EVENTS` names: a line
/// of the headers, and for an outcome one of the value. scripts/check-schemas.sh holds them against docs/schemas.
enum SeenRecords {
    /// The open file; nil where `RECEIPTD_TEST_EVENTS` is unset or empty. `add` appends each record in one write, so
    /// that the records of several threads do not mix.
    private static let descriptor: Int32? = {
        guard let path = ProcessInfo.processInfo.environment["RECEIPTD_TEST_EVENTS"], !path.isEmpty else { return nil }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        precondition(descriptor >= 0, "RECEIPTD_TEST_EVENTS: \(path) cannot be opened")
        return descriptor
    }()

    static func add(_ record: ConsumerRecord, isOutcome: Bool) {
        guard let descriptor else { return }
        let headers = record.headers.map { ($0.name, String(decoding: $0.value ?? [], as: UTF8.self)) }
        let object = Dictionary(headers, uniquingKeysWith: { _, last in last })
        guard let line = try? JSONSerialization.data(withJSONObject: object) else { return }
        let lineEnd = UInt8(ascii: "\n")
        var bytes = Array(line) + [lineEnd]
        if isOutcome { bytes += (record.value ?? []) + [lineEnd] }
        bytes.withUnsafeBytes { _ = write(descriptor, $0.baseAddress, $0.count) }
    }
}
