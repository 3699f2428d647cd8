import Fulfillment
import Logging
import Operations

extension SubmissionInHand {
    /// With the id of its trace, where its sender told one.
    func traced(_ fields: Logger.Fields) -> Logger.Fields {
        var fields = fields
        if let id = traceparent.flatMap(TraceParent.traceID) { fields[.traceID] = "\(id)" }
        return fields
    }
}
