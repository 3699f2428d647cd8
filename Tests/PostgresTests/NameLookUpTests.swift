import Testing

@testable import Postgres

@Suite("A server's name")
struct NameLookUpTests {
    private let limit = Duration.seconds(20)

    @Test("a host name is resolved to addresses before libpq connects")
    func addresses() throws {
        let found = try ConnectTarget(parameters: ["host": "localhost", "port": "1"]).resolved(
            within: limit, interrupt: Interrupt())
        let addresses = found.compactMap { $0.parameters["hostaddr"] }
        #expect(addresses.count == found.count && !addresses.isEmpty)
        #expect(addresses.allSatisfy { ["127.0.0.1", "::1"].contains($0) }, "\(addresses)")
        #expect(found.allSatisfy { $0.parameters["host"] == "localhost" && $0.parameters["port"] == "1" })
    }

    @Test("an address or a socket's directory is not looked up", arguments: ["127.0.0.1", "::1", "/run/x", "@x", ""])
    func noName(host: String) throws {
        let interrupt = Interrupt()
        // The interrupt would end every look-up.
        interrupt.set()
        let found = try ConnectTarget(parameters: ["host": host]).resolved(within: limit, interrupt: interrupt)
        #expect(found.count == 1 && found[0].parameters["hostaddr"] == nil)
    }

    @Test("a name look-up ends when the program stops or at its deadline")
    func givenUp() throws {
        let target = ConnectTarget(parameters: ["host": "nobody.invalid", "user": "bob"])
        let interrupt = Interrupt()
        interrupt.set()
        #expect(throws: Connection.interrupted) { try target.resolved(within: limit, interrupt: interrupt) }
        let late = #expect(throws: PostgresError.self) {
            try target.resolved(within: .zero, interrupt: Interrupt())
        }
        #expect(late?.kind == .connection)
        #expect(late?.message.contains("no answer in 0 s") ?? false, "\(late?.message ?? "")")
        #expect(late?.message.contains("nobody.invalid") ?? false)
    }

    @Test("a connection string with several hosts gives one connection target per host, in the same order")
    func several() {
        let targets = ConnectTarget.all(["host": "a,b", "port": "1,2", "user": "bob"])
        #expect(targets.map { $0.parameters["host"] } == ["a", "b"])
        #expect(targets.map { $0.parameters["port"] } == ["1", "2"])
    }
}
