/// Draws charts as inline SVG, which needs no script and no other file. The page's style gives each class its colour.
package enum Chart {
    package struct Series: Sendable, Equatable {
        let name: String
        /// The CSS class with the colour of the series.
        let style: String
        /// The values from left to right. A nil leaves its place empty.
        let values: [Double?]

        package init(name: String, style: String, values: [Double?]) {
            self.name = name
            self.style = style
            self.values = values
        }
    }

    /// The sizes in units of the SVG drawing, which scales to the page's width.
    private static let (width, height, bottom, left) = (600.0, 160.0, 18.0, 44.0)

    /// Draws stacked bars.
    /// - Parameters:
    ///   - title: the chart's subject, for screen readers.
    ///   - ends: the texts below the left and the right end.
    ///   - unit: the unit after the highest value of the scale.
    ///   - times: the time of each place, which appears under the pointer; empty for none.
    package static func stacked(
        _ series: [Series], title: String, ends: (String, String), unit: String, times: [String] = []
    ) -> String {
        let places = series.first?.values.count ?? 0
        let sums = (0..<places).map { place in series.reduce(0) { $0 + ($1.values[place] ?? 0) } }
        let top = ceiling(sums.max() ?? 0)
        var drawing = ""
        let step = (width - left) / Double(max(1, places))
        for place in 0..<places {
            var base = height - bottom
            for one in series {
                guard let value = one.values[place], value > 0 else { continue }
                let tall = value / top * (height - bottom)
                base -= tall
                drawing +=
                    "<rect class=\"\(one.style)\" x=\"\(text(left + Double(place) * step))\" y=\"\(text(base))\""
                    + " width=\"\(text(step * 0.85))\" height=\"\(text(tall))\"/>"
            }
        }
        drawing += hints(series, times, unit)
        return frame(drawing, title: title, top: top, ends: ends, unit: unit) + legend(series)
    }

    /// Returns the texts that appear under the pointer: the time and the values of each place.
    private static func hints(_ series: [Series], _ times: [String], _ unit: String) -> String {
        let step = (width - left) / Double(max(1, times.count))
        return times.enumerated().map { place, time in
            let values = series.compactMap { one in
                one.values.indices.contains(place)
                    ? one.values[place].map { "\(one.name) \(ShownNumber.short($0)) \(unit)" } : nil
            }
            let words = values.isEmpty ? "\(time): nothing" : "\(time): \(values.joined(separator: ", "))"
            return "<rect class=\"hint\" x=\"\(text(left + Double(place) * step))\" y=\"0\" width=\"\(text(step))\" "
                + "height=\"\(text(height - bottom))\"><title>\(HTMLText.escaped(words))</title></rect>"
        }.joined()
    }

    /// Draws one line for each series, with a gap at each nil.
    package static func lines(
        _ series: [Series], title: String, ends: (String, String), unit: String, times: [String] = []
    ) -> String {
        let places = series.first?.values.count ?? 0
        let top = ceiling(series.flatMap(\.values).compactMap(\.self).max() ?? 0)
        let step = (width - left) / Double(max(1, places))
        var drawing = ""
        for one in series {
            var path = ""
            var isDrawing = false
            for (place, value) in one.values.enumerated() {
                guard let value else {
                    isDrawing = false
                    continue
                }
                let x = left + (Double(place) + 0.5) * step
                let y = (1 - value / top) * (height - bottom)
                // The line has round caps, so that a value between two gaps shows as a dot.
                path += isDrawing ? "L\(text(x)) \(text(y))" : "M\(text(x)) \(text(y))h0.01"
                isDrawing = true
            }
            if !path.isEmpty { drawing += "<path class=\"line \(one.style)\" d=\"\(path)\"/>" }
        }
        drawing += hints(series, times, unit)
        return frame(drawing, title: title, top: top, ends: ends, unit: unit) + legend(series)
    }

    private static func frame(
        _ drawing: String, title: String, top: Double, ends: (String, String), unit: String
    ) -> String {
        let floor = text(height - bottom)
        return """
            <svg class="chart" role="img" viewBox="0 0 \(text(width)) \(text(height))"><title>\(HTMLText.escaped(title))</title>\
            <line x1="\(text(left))" y1="\(floor)" x2="\(text(width))" y2="\(floor)"/>\
            <line x1="\(text(left))" y1="0.5" x2="\(text(width))" y2="0.5"/>\
            <text x="\(text(left - 6))" y="11" text-anchor="end">\(text(top))</text>\
            <text x="\(text(left - 6))" y="24" text-anchor="end">\(HTMLText.escaped(unit))</text>\
            <text x="\(text(left - 6))" y="\(floor)" text-anchor="end">0</text>\
            <text x="\(text(left))" y="\(text(height - 4))">\(HTMLText.escaped(ends.0))</text>\
            <text x="\(text(width))" y="\(text(height - 4))" text-anchor="end">\(HTMLText.escaped(ends.1))</text>\
            \(drawing)</svg>
            """
    }

    private static func legend(_ series: [Series]) -> String {
        let entries = series.map { "<li class=\"\($0.style)\">\(HTMLText.escaped($0.name))</li>" }
        return "<ul class=\"legend\">\(entries.joined())</ul>"
    }

    /// Returns the lowest of … 0.5, 1, 2, 5, 10, 20 … that is not below the value; 1 for a value of 0.
    static func ceiling(_ value: Double) -> Double {
        guard value > 0, value.isFinite else { return 1 }
        var unit = 1.0
        while unit < value { unit *= 10 }
        while unit / 10 >= value { unit /= 10 }
        for part in [unit / 5, unit / 2] where part >= value { return part }
        return unit
    }

    /// Returns the number with at most two decimals.
    private static func text(_ number: Double) -> String {
        let hundredths = (number * 100).rounded()
        guard abs(hundredths) < 1e15 else { return "\(number)" }
        let whole = Int(hundredths)
        if whole % 100 == 0 { return "\(whole / 100)" }
        let part = abs(whole) % 100
        let decimals = part < 10 ? "0\(part)" : part % 10 == 0 ? "\(part / 10)" : "\(part)"
        return "\(whole < 0 ? "-" : "")\(abs(whole) / 100).\(decimals)"
    }
}
