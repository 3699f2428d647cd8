import Yams

/// A YAML document: its tree, and its faults.
///
/// Configuration needs only mappings, sequences and scalars. Anchors, aliases, tags, merge keys, and keys that are not
/// scalars are faults. With such syntax the content of a file would not be visible in its lines, and aliases could make
/// a small file endlessly large.
struct YAMLDocument: Sendable {
    /// The most levels of containers.
    static let maximumDepth = 64

    /// The root of the tree; nil if the text is empty or is not YAML.
    let root: YAMLNode?
    /// The faults in the order of the file.
    let faults: [YAMLFault]

    init(_ text: String) {
        if let position = AliasFlood.position(in: text) {
            root = nil
            faults = [YAMLFault(position: position, message: YAMLComposition.anchorMessage)]
            return
        }
        switch YAMLParsing.parse(text) {
        case .failure(let faults):
            root = nil
            self.faults = faults.faults
        case .success(let parsed):
            var composition = YAMLComposition(repeatedKeys: parsed.repeatedKeys)
            // Nodes refer to their anchors weakly, so the parser must exist until the composition ends.
            root = withExtendedLifetime(parsed.parser) { parsed.root.map { composition.node($0, depth: 1) } }
            faults = composition.faults.sorted { $0.position < $1.position }
        }
    }
}

/// Makes a tree of `YAMLNode` from the parser's tree, and collects the faults of unsupported YAML.
struct YAMLComposition {
    static let anchorMessage = "anchors and aliases are not supported: write the value out"
    private static let tagMessage = "tags are not supported"

    private(set) var faults: [YAMLFault] = []
    private let repeatedKeys: RepeatedKeys
    private var anchored: Set<TextPosition> = []

    init(repeatedKeys: RepeatedKeys) {
        self.repeatedKeys = repeatedKeys
    }

    mutating func node(_ node: Node, depth: Int) -> YAMLNode {
        let position = repeatedKeys.original(node.mark)
        guard admitsAnchor(of: node, at: position) else { return YAMLNode(position: position, content: .unreadable) }
        let content: YAMLNode.Content
        switch node {
        case .scalar(let scalar): content = self.scalar(scalar, at: position)
        case .sequence, .mapping:
            guard depth <= YAMLDocument.maximumDepth else {
                return unreadable(position, "nested deeper than \(YAMLDocument.maximumDepth) levels")
            }
            content = container(node, at: position, depth: depth)
        case .alias: return unreadable(position, Self.anchorMessage)
        }
        return YAMLNode(position: position, content: content)
    }

    /// Returns false if the node is an alias. The parser gives an alias the node and the position of its anchor.
    private mutating func admitsAnchor(of node: Node, at position: TextPosition) -> Bool {
        guard node.anchor != nil else { return true }
        guard anchored.insert(position).inserted else { return false }
        faults.append(YAMLFault(position: position, message: Self.anchorMessage))
        return true
    }

    private mutating func unreadable(_ position: TextPosition, _ message: String) -> YAMLNode {
        faults.append(YAMLFault(position: position, message: message))
        return YAMLNode(position: position, content: .unreadable)
    }

    private mutating func scalar(_ scalar: Node.Scalar, at position: TextPosition) -> YAMLNode.Content {
        let isPlain = scalar.style == .plain
        // The library gives a quoted scalar or a block scalar the tag of text.
        let expected: Tag.Name = isPlain ? .implicit : .str
        guard scalar.tag.rawValue == expected.rawValue else {
            faults.append(YAMLFault(position: position, message: Self.tagMessage))
            return .unreadable
        }
        return .scalar(YAMLScalar(text: scalar.string, isPlain: isPlain))
    }

    private mutating func container(_ node: Node, at position: TextPosition, depth: Int) -> YAMLNode.Content {
        switch node {
        case .sequence(let sequence) where sequence.tag.rawValue.isEmpty:
            return .sequence(sequence.map { self.node($0, depth: depth + 1) })
        case .mapping(let mapping) where mapping.tag.rawValue.isEmpty:
            return .mapping(entries(mapping, depth: depth))
        default:
            faults.append(YAMLFault(position: position, message: Self.tagMessage))
            return .unreadable
        }
    }

    private mutating func entries(_ mapping: Node.Mapping, depth: Int) -> [YAMLEntry] {
        var entries: [YAMLEntry] = []
        var lines: [String: Int] = [:]
        for (key, value) in mapping {
            let position = repeatedKeys.original(key.mark)
            guard let scalar = key.scalar, admitsAnchor(of: key, at: position) else {
                if key.scalar == nil {
                    let message = "a key must be plain text, not a list or a mapping"
                    faults.append(YAMLFault(position: position, message: message))
                }
                continue
            }
            guard scalar.style != .plain || scalar.string != "<<" else {
                let message = "merge keys are not supported: write the keys out"
                faults.append(YAMLFault(position: position, message: message))
                continue
            }
            let name = RepeatedKeys.originalName(scalar.string)
            let node = self.node(value, depth: depth + 1)
            if let line = lines[name] {
                let message = "\(ShownText.quoted(name)) repeats the key in line \(line)"
                faults.append(YAMLFault(position: position, message: message))
            } else {
                lines[name] = position.line
                entries.append(YAMLEntry(name: name, position: position, value: node))
            }
        }
        return entries
    }
}
