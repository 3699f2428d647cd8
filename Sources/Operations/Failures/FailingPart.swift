/// A part that runs by itself and can fail. The raw value is the `part` in log lines and in `receiptd_failures_total`.
public enum FailingPart: String, CaseIterable, Sendable {
    // The dependencies of the other parts. If several parts notice a lost connection, receiptd logs the loss once,
    // under the name of the dependency.
    case postgresql, kafka
    /// Kafka's metadata of the topics that receiptd needs. `optionalTopics` is for the topics without which receiptd
    /// can work.
    case topics
    case optionalTopics = "optional_topics"

    // These parts write to the ledger, except `recall`, which reads.
    case decisions, recall, acknowledgements, parking
    case parked, holds, outbox, offsets, commits, consumer, publisher, notifications, accounts, announced, catalog
    /// Stores the owners of published purchases again, after the database lost them in a restore or a fail-over.
    case claims
    case counts, maintenance, subscriptions, finishes, consumption
    case refundRequests = "refund_requests"
    case history = "notification_history"
    case appleBudget = "apple_budget"
    /// The comparison of this process's clock with other clocks. A large difference is a failure.
    case clocks
    case traffic
    case incidents
    case console

    /// A clause that names the failure, for people.
    public var complaint: String {
        switch self {
        case .postgresql: "PostgreSQL is out of reach"
        case .kafka: "Kafka is out of reach"
        case .topics: "topics cannot be used"
        case .optionalTopics: "optional topics cannot be used"
        case .decisions: "decisions cannot be written to PostgreSQL"
        case .recall: "earlier outcomes cannot be looked up"
        case .acknowledgements: "published events cannot be taken out of the outbox"
        case .parking: "submissions cannot be parked"
        case .parked: "parked submissions cannot be retried"
        case .holds: "held transactions cannot be decided"
        case .outbox: "events that wait in the outbox cannot be published"
        case .offsets: "offsets of decided records cannot be stored in PostgreSQL"
        case .commits: "offsets cannot be committed in Kafka"
        case .consumer: "submissions cannot be read"
        case .publisher: "events cannot be published"
        case .notifications: "notifications cannot be read or stored"
        case .history: "Apple's notification history cannot be read or stored"
        case .subscriptions: "subscriptions cannot be looked up or checked"
        case .accounts: "players' accounts cannot be read or stored"
        case .announced: "announced purchases cannot be delivered"
        case .finishes:
            "the deliveries that receiptd must still report to Apple cannot be read or changed in PostgreSQL"
        case .refundRequests: "refund requests cannot be read or changed in PostgreSQL"
        case .consumption: "the game's reports of consumption cannot be read or stored"
        case .catalog: "the newest catalog cannot be loaded"
        case .claims: "owners of published purchases cannot be restored after PostgreSQL lost decisions"
        case .counts: "the fleet's backlog cannot be counted"
        case .maintenance: "the tables cannot be maintained"
        case .appleBudget: "the shared budget of requests to Apple cannot be used"
        case .clocks: "clocks disagree"
        case .traffic: "traffic cannot be counted for the console"
        case .incidents: "incidents cannot be stored or counted in PostgreSQL"
        case .console: "the console cannot answer"
        }
    }

    /// True if a failure of the part makes the process unready. `/readyz` also lists failures of the other parts.
    public var isNeeded: Bool {
        switch self {
        case .postgresql, .kafka, .topics, .decisions, .recall, .parking, .offsets, .publisher, .claims: true
        case .optionalTopics, .acknowledgements, .parked, .holds, .outbox, .commits, .consumer, .notifications,
            .accounts, .announced,
            .subscriptions, .catalog, .counts, .maintenance, .finishes, .refundRequests, .consumption, .history,
            .appleBudget, .clocks, .traffic, .incidents, .console:
            false
        }
    }

    /// The dependency without which this part cannot succeed; nil if there is none. So if the part succeeds, the
    /// dependency is reachable.
    var dependency: FailingPart? {
        switch self {
        case .postgresql, .kafka, .clocks: nil
        case .decisions, .recall, .acknowledgements, .parking, .parked, .holds, .outbox, .offsets, .notifications,
            .accounts, .announced, .subscriptions, .catalog, .counts, .maintenance, .finishes, .refundRequests,
            .consumption, .history, .appleBudget, .traffic, .incidents, .console, .claims:
            .postgresql
        case .topics, .optionalTopics, .commits, .consumer, .publisher: .kafka
        }
    }
}
