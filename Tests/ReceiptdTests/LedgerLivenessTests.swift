import Ledger
import Logging
import Operations
import Synchronization
import Testing

@testable import receiptd

@Suite("Liveness of the ledger's loops")
struct LedgerLivenessTests {
    @Test("a try without an end is told by /livez, whichever loop's, and a loop without work is not")
    func stuck() {
        let seconds = Atomic<UInt64>(1)
        let health = Health(now: { seconds.load(ordering: .relaxed) * 1_000_000_000 })
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let observer = LedgerObserver.reporting(to: ReceiptdMetrics(version: "test"), health, logger)
        for loop in [LedgerLoop.writer(0), .writer(1), .reader] {
            observer.trying(loop)
            seconds.wrappingAdd(200, ordering: .relaxed)
            // The next try, after one that failed.
            observer.trying(loop)
            seconds.wrappingAdd(200, ordering: .relaxed)
            #expect(health.livez().ok)
            seconds.wrappingAdd(101, ordering: .relaxed)
            let name = loop == .reader ? "database reader" : "database writer"
            #expect(health.stuck == ["\(name): no progress for 301 s, limit 300 s"])
            observer.idle(loop)
            #expect(health.livez().ok)
        }
    }
}
