/** Full names that a requested image name may mean, as in Docker: the tag `latest` and Docker Hub's own name are optional. */
export function meaningsOf(wanted: string): string[] {
  const short = wanted.replace(/^(index\.)?docker\.io\//, '').replace(/^library\//, '')
  return [...new Set([wanted, short])].flatMap(name => [name, `${name}:latest`])
}
