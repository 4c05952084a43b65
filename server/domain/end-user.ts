/** End users: the users of an application behind one key (`user` of a request). A key may limit each of them. */

/** How many are counted separately per key and UTC day; later ones are counted together, against the limits too. */
export const MAX_END_USERS_A_DAY = 10_000

/** The name under which later ones are counted together. It cannot clash, because an empty `user` counts as absent. */
export const REST_OF_END_USERS = ''
