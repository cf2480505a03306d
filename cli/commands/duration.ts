import { InvalidArgumentError } from 'commander'

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

/** `90m`, `1h30m`, `2d`; a bare number is seconds. @returns seconds @throws InvalidArgumentError */
export function parseDuration(text: string): number {
  const parts = [
    ...text
      .trim()
      .toLowerCase()
      .matchAll(/(\d+)([smhd])/g),
  ]
  const whole = parts.map(part => part[0]).join('')
  const seconds = /^\d+$/.test(text.trim())
    ? Number(text)
    : parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNITS[unit] ?? 0), 0)
  if (seconds < 1 || (whole !== text.trim().toLowerCase() && !/^\d+$/.test(text.trim()))) {
    throw new InvalidArgumentError('It must be a time such as 90m, 8h or 1h30m.')
  }
  return seconds
}

/** The two largest units of it: `1 h 30 min`, `45 s`. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  const parts = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor(whole / 3_600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ] as const
  const shown = parts.filter(([count]) => count > 0).slice(0, 2)
  return shown.length === 0 ? '0 s' : shown.map(([count, unit]) => `${count} ${unit}`).join(' ')
}
