/// The reason of a rejection, a hold or a revocation: the codes of docs/contract/reasons.md. `PurchaseRule.all` and
/// `PendingDecision.settlement` show which reasons hold a purchase.
///
/// A new reason needs a decision at each of the places below. A place is in Fulfillment if its entry names no other
/// module. SQL files without a path are in Ledger. The compiler reports three places:
///
/// - `detail`: the sentence for people.
/// - `TrafficClass.init`: the traffic class of a submission with the reason.
/// - `PlayerWords.refused` (Console): the sentence that support tells a player.
///
/// Tests and scripts report these places:
///
/// - The rule and its place. A rule for one purchase is a line of `PurchaseRule.all`. Another rule is a check in
///   `Screening`, `Judge` or `PendingDecision.settlement`, and an entry in `Rule`.
/// - A case in seeds/cases, rows in docs/contract/reasons.md and docs/answers.md, and the name in
///   docs/schemas/event.schema.json.
///
/// Nothing reports these places. Add the reason to a place if the place's condition is true:
///
/// - `AnnouncedTerms.waivedForRenewals`: the rule must not stop a renewal.
/// - `UndeliveredPurchase.reasons`: the rule leaves a paying player without the purchase. If only some purchases
///   with the reason count, add a condition to `PendingDecision.undelivered` and `HoldDecision.undelivered`.
/// - insert_undelivered.sql: another player's row may replace a row with the reason.
/// - lease_due_refund_requests.sql: the reason says that another transaction delivered the purchase.
/// - `HoldDecision.reasonAgainstAnybody`: the reason keeps the purchase from every player.
/// - `LeasedHold.outlook`: no catalog can end a hold for the reason.
/// - `Judge.maySinceGrant` and upsert_offsets_decided_again.sql: the reason may come up after the grant.
/// - `Judge.tries(inDoubtOf:)`: a worker asks Apple more often than usual before it believes the answer.
/// - `PendingDecision.refusal`: the reason has several causes.
/// - `Screening.disputable`: Apple may accept a receipt that `Screening` refuses for the reason.
/// - `JudgedPurchase.reasonOfRevoked`: a refunded purchase is rejected for the reason, and not for its refund.
/// - `PendingDecision.bringsPeriod`: the reason shows that a subscription's period is over or refunded.
/// - `InspectionSummary.isLocal` (Administration): a worker finds the reason without Apple.
/// - `ProofAnswer.revocations(besides:)` in ScreenedSubmission.swift (Pipeline): if the reason rejects the whole
///   submission, receiptd must not store the receipt's refunds.
/// - `RuleTrace.steps` (BackOffice): the rule is checked at another place than `PurchaseRule.all` says.
/// - `DecisionBatch` (Ledger): receiptd cannot read the purchase's id or product, so a batch locks no claim for the
///   purchase. A rejected purchase claims nothing in any case.
/// - `Settlement.isReplay` in Replays.swift: the reason says that another player owns the purchase.
/// - `PipelineMetrics.published` (Pipeline): a sender can invent the app's name, or each hold for the reason is an
///   incident.
/// - `ReceiptdMetrics.declareKnownSeries` (Operations): an alert fires at the first hold for the reason.
/// - `LedgerView.Hold.claims`, `LedgerView.enterHold`, `PendingDecision.period(of:)` in PeriodIdentity.swift,
///   `PendingDecision.bringsPeriod`, `HoldWrite` (Ledger), free_claim.sql, find_known_receipts.sql, find_holds.sql, and
///   in schema.sql the index `holds_claiming` and the function `refund_owner`: a hold for the reason claims nothing.
///   Today only a hold for `.ownershipDisputed` claims nothing.
/// - The table of holds in docs/runbooks.md: the rule holds purchases.
///
/// A replica of an earlier release reads a new code of a hold as `.unknownProduct`.
public enum Reason: String, Sendable, CaseIterable {
    case malformedSubmission = "malformed_submission"
    case unknownApp = "unknown_app"
    case malformedReceipt = "malformed_receipt"
    case foreignApp = "foreign_app"
    case unauthenticReceipt = "unauthentic_receipt"
    case sandboxNotAllowed = "sandbox_not_allowed"
    case tooManyWaiting = "too_many_waiting"
    case accountNotFound = "account_not_found"
    case transactionNotFound = "transaction_not_found"
    case noPurchase = "no_purchase"
    case productMismatch = "product_mismatch"
    case refusedByApple = "refused_by_apple"
    case ownershipDisputed = "ownership_disputed"
    case ownedByOtherPlayer = "owned_by_other_player"
    case alreadyGranted = "already_granted"
    case bindingMismatch = "binding_mismatch"
    case upgraded
    case cancelled
    case revokedByOperator = "revoked_by_operator"
    case familyShared = "family_shared"
    case subscriptionExpired = "subscription_expired"
    case unknownOwnership = "unknown_ownership"
    case kindMismatch = "kind_mismatch"
    case bindingMissing = "binding_missing"
    case beforeCutover = "before_cutover"
    case unreadableTransaction = "unreadable_transaction"
    case unknownProduct = "unknown_product"
    case retiredProduct = "retired_product"
    case currencyNotAllowed = "currency_not_allowed"
    case dailyLimit = "daily_limit"
    case refusedByOperator = "refused_by_operator"
    case refund
    case revoke
}
