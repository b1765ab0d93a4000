"""The lists of a plan, by the names that AITER gives them."""

#: In the order of the size query, behind its first answer: their addresses.
LISTS = ("work_indptr", "work_info_set", "reduce_indptr", "reduce_final_map",
         "reduce_partial_map")
#: Launches as an emulated device makes them where nothing else is said.
USUAL_RUN = {"checks": "", "schedule": "", "arrival": "", "matrix": ""}
