import Testing

@testable import Postgres

@Suite("The look-up of a PostgreSQL server's host name")
struct NameLookUpTests {
    private let limit = Duration.seconds(20)

    @Test("a PostgreSQL server's host name is resolved to addresses before libpq connects")
    func addresses() throws {
        let found = try ConnectTarget(parameters: ["host": "localhost", "port": "1"]).resolved(
            within: limit, interrupt: Interrupt())
        let addresses = found.compactMap { $0.parameters["hostaddr"] }
        #expect(addresses.count == found.count && !addresses.isEmpty)
        #expect(addresses.allSatisfy { ["127.0.0.1", "::1"].contains($0) }, "\(addresses)")
        #expect(found.allSatisfy { $0.parameters["host"] == "localhost" && $0.parameters["port"] == "1" })
    }

    @Test(
        "if PostgreSQL's host is an address or a socket's directory, it is not looked up",
        arguments: ["127.0.0.1", "::1", "/run/x", "@x", ""])
    func noName(host: String) throws {
        let interrupt = Interrupt()
        // The interrupt would end every look-up.
        interrupt.set()
        let found = try ConnectTarget(parameters: ["host": host]).resolved(within: limit, interrupt: interrupt)
        #expect(found.count == 1 && found[0].parameters["hostaddr"] == nil)
    }

    @Test("the look-up of a PostgreSQL server's host name ends at its deadline, or when the pool is interrupted")
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

    @Test("a PostgreSQL URI with several hosts gives one connection target per host, in the same order")
    func several() {
        let targets = ConnectTarget.all(["host": "a,b", "port": "1,2", "user": "bob"])
        #expect(targets.map { $0.parameters["host"] } == ["a", "b"])
        #expect(targets.map { $0.parameters["port"] } == ["1", "2"])
    }
}
