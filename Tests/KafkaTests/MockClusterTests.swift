import Foundation
import Kafka
import Testing

@Suite("The in-process broker", .timeLimit(.minutes(1)))
struct MockClusterTests {
    @Test("A broker goes down and up again while programs are started, which hold its socket until they run")
    func downWhileProgramsStart() async throws {
        let isOver = Shared(false)
        async let programs = blocking {
            var count = 0
            while !isOver.value {
                let program = Process()
                program.executableURL = URL(fileURLWithPath: "/bin/true")
                try program.run()
                program.waitUntilExit()
                count += 1
            }
            return count
        }
        try await blocking {
            let cluster = try MockCluster(brokerCount: 2, topics: ["t": 1])
            defer {
                cluster.close()
                isOver.update { $0 = true }
            }
            for _ in 0..<20 {
                cluster.setBrokerDown(-1)
                cluster.setBrokerUp(-1)
            }
            cluster.setBrokerDown(2)
            cluster.setBrokerUp(2)
            let producer = try KafkaProducer(properties: properties(cluster), log: quiet)
            defer { producer.close() }
            try producer.produce(ProducerRecord(topic: "t", partition: 0, value: [1])) { _ in }
            #expect(producer.flush(timeoutMilliseconds: 30_000))
        }
        #expect(try await programs > 0)
    }
}
