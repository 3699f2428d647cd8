import EmbeddedPostgres
import Foundation
import Kafka
import Testing

@Suite("The tests' in-process Kafka broker", .timeLimit(.minutes(1)))
struct MockClusterTests {
    @Test(
        "if child processes inherit the in-process broker's socket, the broker still restarts, and then takes a record")
    func downWhileProgramsStart() async throws {
        let (isBegun, isOver) = (Shared(false), Shared(false))
        async let programs: Void = blocking {
            defer { isBegun.update { $0 = true } }
            repeat {
                _ = try ChildProcess(ChildProcess.Start(["/bin/true"], log: "/dev/null")).wait()
                isBegun.update { $0 = true }
            } while !isOver.value
        }
        try await blocking {
            let cluster = try MockCluster(brokerCount: 2, topics: ["t": 1])
            defer {
                cluster.close()
                isOver.update { $0 = true }
            }
            var rounds = 0
            while rounds < 10 || !isBegun.value {
                cluster.setBrokerDown(-1)
                cluster.setBrokerUp(-1)
                rounds += 1
            }
            cluster.setBrokerDown(2)
            cluster.setBrokerUp(2)
            let producer = try KafkaProducer(properties: properties(cluster), log: quiet)
            defer { producer.close() }
            try producer.produce(ProducerRecord(topic: "t", partition: 0, value: [1])) { _ in }
            #expect(producer.flush(timeoutMilliseconds: 30_000))
        }
        try await programs
    }
}
