import Pipeline

extension CommandFailure {
    /// Makes the failure of a rewind that receiptd refused. The exit code is 1, because the operator has to stop the
    /// workers first.
    package init(_ refusal: OffsetRewind.Refusal) {
        switch refusal {
        case .groupHasMembers: self.init("the consumer group still has members: stop all of its workers first", code: 1)
        case .workerHasBegun:
            self.init("a worker of the consumer group has started meanwhile: stop all of its workers first", code: 1)
        }
    }
}
