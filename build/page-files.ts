import { type Rolldown } from 'vite'

type Graph = Parameters<Exclude<Rolldown.CodeSplittingGroup['name'], string>>[1]

/** Parts of the page that are loaded together: one file each, with all their static imports except contracts. */
const PARTS = [
  { name: 'first', entries: ['app/main.ts', 'features/account/SignInPage.vue'] },
  { name: 'sessions', entries: ['app/AppShell.vue', 'features/sessions/SessionsPage.vue'] },
] as const

/** All contracts are reached through one index file. Only the bundler knows whose exports a part uses: most belong to dialogs. */
const CONTRACT = /[\\/]contract[\\/]/

/** @returns a function that names the file for a module of the page; null: the bundler decides */
export function pageFiles(folder: string) {
  const known = new Map<string, ReadonlySet<string>>()
  return (id: string, graph: Graph): string | null => {
    for (const { name, entries } of PARTS) {
      let modules = known.get(name)
      if (!modules)
        known.set(
          name,
          (modules = reachable(
            entries.map(entry => `${folder}/${entry}`),
            graph,
          )),
        )
      if (modules.has(id)) return name
    }
    return null
  }
}

function reachable(entries: readonly string[], graph: Graph): ReadonlySet<string> {
  const found = new Set<string>(entries)
  for (const id of found) {
    const info = graph.getModuleInfo(id)
    if (!info && entries.includes(id)) throw new Error(`the page has no module ${id}`)
    for (const imported of info?.importedIds ?? []) if (!CONTRACT.test(imported)) found.add(imported)
  }
  return found
}
