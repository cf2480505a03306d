/** The action of a button of a row; `menu` opens the menu of the row at its button. */
export type RowAct = 'apps' | 'terminal' | 'lab' | 'terminate' | 'again' | 'menu'
