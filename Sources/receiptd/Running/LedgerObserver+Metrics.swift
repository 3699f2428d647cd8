import Ledger
import Logging
import Operations
import Postgres

extension LedgerObserver {
    static func reporting(to metrics: ReceiptdMetrics, _ health: Health, _ logger: Logger) -> LedgerObserver {
        LedgerObserver(
            batchCommitted: { submissions, seconds in
                metrics.databaseBatchRows.observe(Double(submissions))
                metrics.databaseCommitDuration.observe(seconds)
            },
            trouble: { trouble in
                switch trouble {
                case .failed(let error):
                    logger.warning(
                        "a database transaction is run again",
                        [.sqlState: "\(error.sqlState ?? "none")", .error: "\(error.message)"])
                case .unknownGrant: logger.info("a grant stood there without its claim")
                case .decidedBefore(let records):
                    logger.info(
                        "another replica decided these records first", [.count: .stringConvertible(records)])
                }
            },
            parked: { error in
                logger.error("the database refused data: parked", [.sqlState: "\(error.sqlState ?? "none")"])
            },
            replaying: { player in
                metrics.replayingPlayers.increment()
                logger.notice(
                    "a player keeps sending purchases that others own",
                    [
                        .playerID: "\(player.playerID)", .bundleID: "\(player.bundleID)",
                        .count: .stringConvertible(player.submissions),
                    ])
            },
            constantToken: { bundleID in
                metrics.constantTokens.increment()
                logger.warning(
                    "more than five players sent one account token: the client sends a constant",
                    [.bundleID: "\(bundleID)"])
            },
            connected: { health.set(.databaseReachable, unmet: nil) },
            disconnected: { _ in health.set(.databaseReachable, unmet: "PostgreSQL is out of reach") })
    }
}

extension Schema.State {
    /// Why a worker cannot use the database, nil where it can.
    var unreadiness: String? {
        switch self {
        case .current, .newer: nil
        case .missing: "the database has no schema: run `receiptd migrate`"
        case .tooOld(let found, let needed):
            "the database's schema is version \(found), this program needs \(needed): run `receiptd migrate`"
        }
    }
}
