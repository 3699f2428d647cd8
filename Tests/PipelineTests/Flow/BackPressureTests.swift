import Fulfillment
import Kafka
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Back-pressure from the window of submissions in flight")
struct BackPressureTests {
    @Test(
        "a full window of submissions pauses all partitions, newly assigned ones too, until half of the window is free")
    func backPressure() async throws {
        let bench = try PipelineBench { settings in
            settings.maximumInFlight = 8
            settings.shutdownGraceSeconds = 0.5
        }
        let names = (0..<64).map { "window.\($0)" }
        for name in names { bench.verifier.hold(name) }
        for (index, name) in names.enumerated() {
            try await bench.submit(name, player: name, partition: Int32(index % 4))
        }
        let running = try bench.start()
        try await eventually("the intake is paused") { running.metrics.paused.value == 1 }
        try await bench.changes.until("as many are asked about as the window takes") {
            bench.verifier.asked.count == 8
        }

        try await eventually("the oldest is a second old") { running.metrics.oldestInFlightSeconds.value > 1 }
        // Three of eight places are free, which is fewer than half. The intake stays paused and admits no record.
        let taken = bench.verifier.asked
        for name in taken.prefix(3) { bench.verifier.release(name) }
        try await bench.untilAnswered(Array(taken.prefix(3)), count: 1)
        #expect(running.metrics.paused.value == 1)
        #expect(bench.verifier.asked.count == 8)
        bench.verifier.release(taken[3])
        try await bench.changes.until("four more are asked about") { bench.verifier.asked.count == 12 }
        try await eventually("the intake is paused again") { running.metrics.paused.value == 1 }

        // A second member joins while the first member's window is full. The first member gives up the records in
        // flight of the partitions that it loses. The first member's later records stay within the window.
        let other = try bench.start()
        // A log line follows the join and each rebalance, and raises `changes`, which wakes both waits.
        try await bench.changes.until("the other has joined") {
            other.health.unmet.allSatisfy { !$0.contains("group") }
        }
        try await other.stop()
        try await bench.changes.until("the first has them all again") { running.metrics.rebalances.value >= 5 }
        try await eventually("the intake is paused with all of them") { running.metrics.paused.value == 1 }
        #expect(running.metrics.inFlight.value <= 9)
        for name in names { bench.verifier.release(name) }
        try await bench.changes.until("each is answered") { names.allSatisfy { !bench.answers($0).isEmpty } }
        for partition in Int32(0)..<4 { try await bench.untilCommitted(16, of: partition) }
        #expect(names.allSatisfy { Set(bench.answers($0)) == ["granted \($0)"] })
        try await eventually("the intake goes on, with nothing in flight") {
            running.metrics.paused.value == 0 && running.metrics.inFlight.value == 0
        }
        #expect(running.metrics.inFlightBytes.value == 0)
        #expect(running.metrics.oldestInFlightSeconds.value == 0)
        try await running.stop()
        try await bench.close()
    }
}
