/**
 * Decides which URLs may leave the app through the operating system's URL handlers. A handler runs a program with text that may
 * come from a container (links in a terminal), so this is an allow-list of forms, not of schemes alone: https anywhere; http
 * and sftp only on this computer (tunnels); VS Code only to open a folder by its SSH remote.
 */
export function isExternalUrlAllowed(text: string): boolean {
  const url = URL.parse(text)
  // Control characters and spaces are not valid in a URL, but some handlers' command lines split on them.
  if (!url || /[\u0000-\u0020\u007f"'`<>\\^{|}]/.test(text)) return false
  switch (url.protocol) {
    case 'https:':
      return url.username === '' && url.password === ''
    case 'http:':
      return isLoopback(url.hostname) && url.username === '' && url.password === ''
    case 'sftp:':
    case 'winscp-sftp:':
      return isLoopback(url.hostname) && url.password === ''
    case 'vscode:':
      // Only names of our own Host blocks: an attacker could use any other name as a host, or as an option.
      return /^vscode:\/\/vscode-remote\/ssh-remote\+berth-[a-z0-9._-]+\//.test(text)
    default:
      return false
  }
}

/** Host and port that a link for a browser names, in ASCII; undefined for every other kind of link. */
export function hostOfLink(text: string): string | undefined {
  const url = URL.parse(text)
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.host : undefined
}

function isLoopback(host: string): boolean {
  return host === '127.0.0.1' || host === '[::1]' || host === 'localhost' || /^[a-z0-9-]+\.localhost$/.test(host)
}
