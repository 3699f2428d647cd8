import Fulfillment
import Ledger
import Logging
import NamesAndTimes
import Operations
import Postgres

extension LedgerObserver {
    package static func reporting(to metrics: ReceiptdMetrics, _ health: Health, _ logger: Logger) -> LedgerObserver {
        let failures = health.failures
        return LedgerObserver(
            succeeded: { failures.recovered($0.failingPart) },
            failed: { failures.failed($0.failingPart, $1) },
            batchCommitted: { submissions, seconds in
                metrics.databaseBatchRows.observe(Double(submissions))
                metrics.databaseCommitDuration.observe(seconds)
            },
            trouble: { trouble in
                switch trouble {
                case .failed(let error):
                    logger.debug(
                        "the worker repeats an SQL transaction",
                        [.sqlState: "\(error.sqlState ?? "none")", .error: "\(error.message)"])
                case .unknownGrant:
                    logger.info(
                        """
                        PostgreSQL has a grant, hold or owner that the worker had not looked up for this batch, or a \
                        claim is gone: the worker writes the batch again
                        """)
                case .conflict: logger.info("a row of a batch exists already: the worker writes the batch again")
                case .decidedBefore(let records):
                    logger.info(
                        "another replica decided these records first", [.count: .stringConvertible(records)])
                }
            },
            parked: { error in
                logger.error(
                    "PostgreSQL refuses a submission's data: the worker parks the submission",
                    [.sqlState: "\(error.sqlState ?? "none")"])
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
                metrics.incidents.note(.constantToken, of: bundleID.text)
                logger.warning(
                    "more than five players sent one account token: the client sends a constant",
                    [.bundleID: "\(bundleID)"])
            },
            disputedToken: { dispute in
                metrics.disputedTokens.increment()
                metrics.incidents.note(.tokenDisputed, of: dispute.bundleID.text)
                logger.warning(
                    "a purchase is held: another player sent its account token first",
                    [
                        .bundleID: "\(dispute.bundleID)", .transactionID: "\(dispute.transactionID)",
                        .playerID: "\(dispute.player)", .firstPlayerID: "\(dispute.firstPlayer)",
                    ])
            })
    }
}

extension LedgerObserver.Part {
    fileprivate var failingPart: FailingPart {
        switch self {
        case .decisions: .decisions
        case .recall: .recall
        case .acknowledgements: .acknowledgements
        case .parking: .parking
        }
    }
}

extension PostgresError: DescribedError {
    public var failureCode: String? { sqlState }
    public var failureCodeKey: LogKey { .sqlState }
    public var failureWords: String { message }

    public var failedDependency: FailingPart? {
        switch kind {
        case .connection, .commitOutcomeUnknown: .postgresql
        case .data, .retriable, .other: nil
        }
    }
}
