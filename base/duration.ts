const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, min: 60, h: 3_600, d: 86_400 }

/** Parses `90m`, `1h30m`, `2 d`, `1 h 30 min`; a bare number is seconds. @returns seconds; undefined for 0 and other text */
export function parseDuration(text: string): number | undefined {
  const bare = text.replaceAll(/\s+/g, '').toLowerCase()
  if (/^\d+$/.test(bare)) return Number(bare) || undefined
  if (!/^(\d+(min|[smhd]))+$/.test(bare)) return undefined
  const parts = [...bare.matchAll(/(\d+)(min|[smhd])/g)]
  return parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNITS[unit] ?? 0), 0) || undefined
}

/** Writes a duration in its largest unit and the next one: `1 h 30 min`, `45 s`. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  const parts = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor(whole / 3_600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ] as const
  const first = parts.findIndex(([count]) => count > 0)
  if (first === -1) return '0 s'
  const shown = parts.slice(first, first + 2).filter(([count]) => count > 0)
  return shown.map(([count, unit]) => `${count} ${unit}`).join(' ')
}
