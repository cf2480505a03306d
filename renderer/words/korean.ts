import { type Messages } from './message-types.ts'

/** The Korean texts of all features except administration: one file, loaded when Korean is chosen. */
const files = import.meta.glob<Messages>(['./ko/*.ts', '!./ko/admin*.ts'], { eager: true, import: 'default' })

export default Object.fromEntries(
  Object.entries(files).map(([path, messages]) => [path.replace(/^\.\/ko\/(.*)\.ts$/, '$1'), messages]),
)
