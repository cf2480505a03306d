/** The action of a row's button; `menu` opens the row's menu at its button. */
export type RowAct = 'apps' | 'terminal' | 'lab' | 'terminate' | 'again' | 'menu'
