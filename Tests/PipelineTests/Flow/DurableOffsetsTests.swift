import Operations
import Testing

@testable import Pipeline

@Suite("Offsets that the database keeps")
struct DurableOffsetsTests {
    @Test("Kafka's commit waits for the database's note")
    func behind() async throws {
        let offsets = KeptOffsets()
        let bench = try PipelineBench(offsets: offsets)
        let running = try bench.start()
        try await bench.submit("a", player: "a", partition: 0)
        try await eventually { try await bench.committed()[0] == 1 }
        #expect(offsets[0] == 1)
        offsets.setAway(true)
        try await bench.submit("b", player: "b", partition: 0)
        try await eventually { bench.answers("b").count == 1 }
        try await eventually { running.log.lines.contains { $0.hasSuffix("offsets could not be noted yet") } }
        #expect(try await bench.committed()[0] == 1)
        offsets.setAway(false)
        try await eventually { try await bench.committed()[0] == 2 }
        #expect(offsets[0] == 2)
        try await running.stop()
        try await bench.close()
    }

    @Test("who leaves before any progress tells the database, for Kafka holds a start to its name")
    func departs() async throws {
        let offsets = KeptOffsets()
        let bench = try PipelineBench(offsets: offsets) { $0.shutdownGraceSeconds = 0.5 }
        let first = try bench.start()
        try await bench.submit("a", player: "a", partition: 0)
        try await eventually { try await bench.committed()[0] == 1 }
        try await first.stop()
        let departures = offsets.departures(from: 0)
        bench.verifier.hold("b")
        try await bench.submit("b", player: "b", partition: 0)
        let second = try bench.start()
        try await eventually { bench.verifier.count("b") == 1 }
        try await second.stop()
        #expect(offsets.departures(from: 0) == departures + 1)
        try await bench.close()
    }

    @Test("a database that fell back is noticed without traffic, and what it lacks is taken again")
    func fallsBack() async throws {
        let offsets = KeptOffsets()
        let bench = try PipelineBench(offsets: offsets)
        let running = try bench.start()
        for number in 0..<6 { try await bench.submit("s\(number)", player: "p\(number)", partition: 0) }
        try await eventually { try await bench.committed()[0] == 6 && offsets[0] == 6 }
        offsets.fallBack(to: [0: 2])
        try await eventually { (2..<6).allSatisfy { bench.answers("p\($0)").count == 2 } }
        #expect((0..<2).allSatisfy { bench.answers("p\($0)").count == 1 })
        try await eventually { try await bench.committed()[0] == 6 && offsets[0] == 6 }
        #expect(running.metrics.databaseFallbacks.value == 1)
        try await running.stop()
        try await bench.close()
    }

    @Test("one that answers too late with a lower offset has its partition read again from there")
    func late() async throws {
        let offsets = KeptOffsets()
        let bench = try PipelineBench(offsets: offsets)
        let first = try bench.start()
        for number in 0..<4 { try await bench.submit("s\(number)", player: "p\(number)", partition: 0) }
        try await eventually { try await bench.committed()[0] == 4 && offsets[0] == 4 }
        try await first.stop()
        offsets.fallBack(to: [0: 1])
        // The first read is the assignment's, which does not wait for the second.
        offsets.failNextReads(1)
        let second = try bench.start()
        try await eventually { (1..<4).allSatisfy { bench.answers("p\($0)").count == 2 } }
        #expect(bench.answers("p0").count == 1)
        #expect(second.log.holds("warning the group is left and joined again"))
        try await second.stop()
        try await bench.close()
    }
}
