import Postgres

/// Shows whether this role may create and drop partitions of the outcomes table. The check creates a partition in an
/// SQL transaction that is rolled back, and queries the rights to drop one.
public enum MaintenanceCheck: Sendable, Equatable {
    case able
    /// Other sessions have locked the tables, so the check could not create a partition.
    case busy([LockHolder])
    /// PostgreSQL refuses the partition, or the role lacks the right to drop one. The text says why. Until an operator
    /// corrects this, the outcomes of days without a partition go to the default partition.
    case refused(String)

    private struct RolledBack: Error {
        let finding: MaintenanceCheck
    }

    /// A day for which no worker creates a partition, because it is long past any retention.
    private static let day = OutcomeDay(sinceEpoch: 0)
    private static let mayDrop = PostgresStatement(
        """
        SELECT has_table_privilege('outcomes', 'DELETE') AND has_function_privilege('drop_outcomes_day(date)', 'EXECUTE')
            AS may_drop
        """)

    /// Runs the check. Returns `.refused` if a right is missing, and `.busy` if locks prevent the check. Throws other
    /// `PostgresError`s.
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
                        : .refused(
                            "to drop old days, the role needs DELETE on outcomes and EXECUTE on drop_outcomes_day"))
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
