import Testing

func expectNone(_ problems: [String], _ place: String = "", at location: SourceLocation = #_sourceLocation) {
    #expect(problems.isEmpty, "\(place) \(problems.count) problems: \(problems.prefix(10))", sourceLocation: location)
}
