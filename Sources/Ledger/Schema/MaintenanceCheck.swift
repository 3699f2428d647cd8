import Postgres

/// Whether this role may keep the outcomes' partitions: tried, and rolled back.
public enum MaintenanceCheck: Sendable, Equatable {
    case able
    /// Somebody holds the tables at the moment, so that it could not be tried.
    case busy([LockHolder])
    /// What is missing, in PostgreSQL's words. Records of days without a partition go to the default one meanwhile.
    case refused(String)

    private struct RolledBack: Error {
        let finding: MaintenanceCheck
    }

    /// A day that nobody makes: far behind everyone's retention.
    private static let day = OutcomeDay(sinceEpoch: 0)
    private static let mayDrop = LedgerSQL.statement(PackageResources.may_drop_outcomes_days_sql)
    private static let making = LedgerSQL.statement(PackageResources.make_outcomes_day_sql)

    /// Throws a `PostgresError` for what is no right's fault.
    public static func run(in session: PostgresSession) throws -> MaintenanceCheck {
        let holders = try LockHolder.find(
            ["outcomes_default"], olderThan: OutcomePartitions.oldTransaction, in: session)
        guard holders.isEmpty else { return .busy(holders) }
        do {
            return try session.transaction { session in
                try session.execute(making, [.date(daysSinceUnixEpoch: day.sinceEpoch)])
                let mayDrop = try session.execute(mayDrop).bool(0, 0) ?? false
                throw RolledBack(
                    finding: mayDrop
                        ? .able : .refused("old days cannot be dropped without the right to DELETE on outcomes"))
            }
        } catch let error as RolledBack {
            return error.finding
        } catch let error as PostgresError where error.isLockTrouble {
            return .busy(try LockHolder.find(["outcomes_default"], olderThan: 0, in: session))
        } catch let error as PostgresError where error.sqlState?.hasPrefix("42") == true {
            return .refused(error.message)
        }
    }
}
