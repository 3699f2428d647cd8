import TestSupport
import Testing

@Suite("Kafka settings that only librdkafka refuses")
struct RefusedClientTests {
    @Test("if librdkafka refuses a setting, `run`, `check`, `intake`, `outcomes` and `submit` exit with 78 and name it")
    func exitCodes() async throws {
        let services = [
            "KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1", "DATABASE_URL": "postgresql://nobody:hush@127.0.0.1:1/none",
        ]
        for (properties, word) in [
            ("security.protocol=ssl;ssl.ca.location=/nonexistent", "ssl.ca.location"),
            ("security.protocol=sasl_plaintext;sasl.mechanism=NONE-SUCH;sasl.password=hush", "NONE-SUCH"),
        ] {
            for command in [["run"], ["check"], ["intake"], ["outcomes"], ["submit", "/dev/null"]] {
                let ending = try await Program.run(
                    command, environment: services.merging(["KAFKA_PROPERTIES": properties]) { $1 })
                #expect(ending.code == 78, "\(command): \(ending)")
                #expect(ending.errors.contains("KAFKA_PROPERTIES") && ending.errors.contains(word), "\(ending.errors)")
                #expect(!ending.errors.contains("hush"))
            }
        }
    }
}
