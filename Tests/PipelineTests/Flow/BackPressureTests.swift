import Fulfillment
import Kafka
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Back-pressure")
struct BackPressureTests {
    @Test("a full window stops the intake, half of it starts it again, and a partition that comes meanwhile waits too")
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
        try await eventually { running.metrics.paused.value == 1 }
        try await eventually { bench.verifier.asked.count == 8 }

        try await eventually { running.metrics.oldestInFlightSeconds.value > 1 }
        // Less than half is free: still paused, and nothing new is taken.
        let taken = bench.verifier.asked
        for name in taken.prefix(3) { bench.verifier.release(name) }
        try await eventually { taken.prefix(3).allSatisfy { bench.answers($0).count == 1 } }
        #expect(running.metrics.paused.value == 1)
        #expect(bench.verifier.asked.count == 8)
        bench.verifier.release(taken[3])
        try await eventually { bench.verifier.asked.count == 12 }
        try await eventually { running.metrics.paused.value == 1 }

        // A second member comes while the first is full. What the first held is given up with its partitions; whatever
        // comes back to it, and whatever it takes anew, stays within the window.
        let other = try bench.start()
        try await eventually { other.health.unmet.allSatisfy { !$0.contains("group") } }
        try await other.stop()
        try await eventually { running.metrics.rebalances.value >= 5 }
        try await eventually { running.metrics.paused.value == 1 }
        #expect(running.metrics.inFlight.value <= 9)
        for name in names { bench.verifier.release(name) }
        try await eventually { names.allSatisfy { !bench.answers($0).isEmpty } }
        try await eventually { try await bench.committed().filter { $0.key < 4 }.values.allSatisfy { $0 == 16 } }
        #expect(names.allSatisfy { Set(bench.answers($0)) == ["granted \($0)"] })
        try await eventually { running.metrics.paused.value == 0 && running.metrics.inFlight.value == 0 }
        #expect(running.metrics.inFlightBytes.value == 0)
        #expect(running.metrics.oldestInFlightSeconds.value == 0)
        try await running.stop()
        try await bench.close()
    }
}
