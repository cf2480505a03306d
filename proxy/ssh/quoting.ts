/** Quotes one word for a POSIX shell; plain words stay unchanged. */
export function quoteForShell(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** Quotes one word of a line to copy into this computer's terminal: `cmd` and PowerShell know double quotes only. */
export function quoteForTerminal(word: string, platform = process.platform): string {
  if (platform !== 'win32') return quoteForShell(word)
  return /^[A-Za-z0-9_@+=:,.\\/~-]+$/.test(word) ? word : `"${word}"`
}

/**
 * Quotes one argument of ssh_config: in double quotes, because a path may hold spaces, and with `%` doubled, because ssh
 * expands `%h` and the like in file names. A path with `"` or a line break cannot be represented.
 */
export function quoteForSshConfig(value: string): string {
  if (/["\r\n]/.test(value)) throw new TypeError('ssh_config has no way to write this path')
  return `"${value.replaceAll('\\', '/').replaceAll('%', '%%')}"`
}

export function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
}
