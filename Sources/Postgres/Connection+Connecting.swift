import CLibPQ
import Foundation

extension Connection {
    /// Connects to the first server of the URI that accepts. Throws one error for all that failed.
    /// - Parameter defaultSeconds: the time for one name and for one address, if the URI gives no time or no limit.
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

    /// Drives libpq's attempt to connect until it succeeds or fails, and returns nil. Returns an error if the attempt
    /// is given up.
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
            // The socket may be another one after each step.
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
    /// Combines the failures of all tried servers: a server's answer counts before silence.
    init(connecting failures: [PostgresError]) {
        let told = failures.first { $0.sqlState != nil } ?? failures.last
        let words = failures.map(\.message).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        self.init(
            sqlState: told?.sqlState, message: words.joined(separator: "; "), kind: .connection,
            constraint: nil)
    }
}
