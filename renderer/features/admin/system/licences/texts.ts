/** Texts of licences, each once. The build puts them here (`build/vite-licences.ts`). */
export const TEXTS: readonly string[] = []
