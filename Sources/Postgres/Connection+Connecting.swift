import CLibPQ
import Foundation

extension Connection {
    /// Connects to the first server of the URI that accepts. If all fail, throws one error for all servers.
    /// - Parameter defaultSeconds: the time for a name look-up, and for each address, if `connect_timeout` of the URI
    ///   is missing or 0.
    static func open(
        _ parameters: [String: String], defaultSeconds: Int, interrupt: Interrupt, hung: HungSessions
    ) throws(PostgresError) -> Connection {
        let asked = parameters["connect_timeout"].flatMap { Int($0) } ?? 0
        let limit = Duration.seconds(asked > 0 ? asked : max(1, defaultSeconds))
        var failures: [PostgresError] = []
        for host in ConnectTarget.all(parameters) {
            do throws(PostgresError) {
                for target in try host.resolved(within: limit, interrupt: interrupt) {
                    do throws(PostgresError) {
                        return try Connection(target.parameters, within: limit, interrupt: interrupt, hung: hung)
                    } catch {
                        failures.append(error)
                    }
                }
            } catch {
                failures.append(error)
            }
            if interrupt.isSet { throw Self.interrupted }
        }
        throw PostgresError(connecting: failures)
    }

    /// Runs libpq's attempt to connect until it succeeds or fails, and returns nil. Returns an error at the time limit,
    /// or if the pool is interrupted.
    static func drive(
        _ handle: OpaquePointer, within limit: Duration, interrupt: Interrupt
    ) -> PostgresError? {
        let deadline = ContinuousClock.now + limit
        guard PQstatus(handle) != CONNECTION_BAD else { return nil }
        var state = PGRES_POLLING_WRITING
        while true {
            let events: Int32
            switch state {
            case PGRES_POLLING_OK, PGRES_POLLING_FAILED: return nil
            case PGRES_POLLING_READING: events = POLLIN
            default: events = POLLOUT
            }
            // libpq may change the socket in each step.
            switch pollSocket(PQsocket(handle), events, interrupt, until: deadline) {
            case .ready: state = PQconnectPoll(handle)
            case .interrupted: return Self.interrupted
            case .late:
                return PostgresError(
                    sqlState: nil, message: "no answer in \(limit.components.seconds) s", kind: .connection)
            }
        }
    }
}

extension PostgresError {
    /// Combines the failures of all servers. The SQLSTATE is the first that a server sent.
    init(connecting failures: [PostgresError]) {
        let told = failures.first { $0.sqlState != nil } ?? failures.last
        let words = failures.map(\.message).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        self.init(
            sqlState: told?.sqlState, message: words.joined(separator: "; "), kind: .connection,
            constraint: nil)
    }
}
