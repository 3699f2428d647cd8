import Postgres

/// The right of this role to create and drop partitions of the outcomes table. The check creates a partition in a
/// transaction that is rolled back, and looks up the rights to drop a partition.
public enum MaintenanceCheck: Sendable, Equatable {
    case able
    /// Sessions hold the tables at the moment, so that the check could not make a partition.
    case busy([LockHolder])
    /// PostgreSQL refuses something, or the role lacks the right to drop; the text says why. Records of days without a
    /// partition go to the default one meanwhile.
    case refused(String)

    private struct RolledBack: Error {
        let finding: MaintenanceCheck
    }

    /// A day for which no worker makes a partition: it is far behind everyone's retention.
    private static let day = OutcomeDay(sinceEpoch: 0)
    private static let mayDrop = PostgresStatement(
        """
        SELECT has_table_privilege('outcomes', 'DELETE') AND has_function_privilege('drop_outcomes_day(date)', 'EXECUTE')
            AS may_drop
        """)

    /// Runs the check. Returns `.refused` if a right is missing, and `.busy` if locks prevent the check. Throws every
    /// other `PostgresError`.
    public static func run(in session: PostgresSession) throws -> MaintenanceCheck {
        let holders = try LockHolder.find(
            ["outcomes_default"], olderThan: OutcomePartitions.oldTransaction, in: session)
        guard holders.isEmpty else { return .busy(holders) }
        do {
            return try session.transaction { session in
                try session.execute(OutcomePartitions.making, [.date(daysSinceUnixEpoch: day.sinceEpoch)])
                let rows = try session.execute(mayDrop)
                let mayDrop = rows.bool(0, try rows.column("may_drop")) ?? false
                throw RolledBack(
                    finding: mayDrop
                        ? .able
                        : .refused("to drop old days it needs DELETE on outcomes and EXECUTE on drop_outcomes_day"))
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
