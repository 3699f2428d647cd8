import Fulfillment
import Logging
import Operations

extension SubmissionInHand {
    /// Adds the id of its trace, if its sender gave one.
    func traced(_ fields: Logger.Fields) -> Logger.Fields {
        var fields = fields
        if let id = traceparent.flatMap(TraceParent.traceID) { fields[.traceID] = "\(id)" }
        return fields
    }
}
