import Foundation
import Kafka

/// Appends every outcome and dead letter that these tests see to the file in `RECEIPTD_TEST_EVENTS`. Each record gets a
/// line with its headers. An outcome gets a second line with its value. `scripts/check-schemas.sh` validates the lines
/// with docs/schemas.
enum SeenRecords {
    /// The open file; nil if `RECEIPTD_TEST_EVENTS` is unset or empty. `add` writes each record with one call, so that
    /// the lines of several threads do not mix.
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
