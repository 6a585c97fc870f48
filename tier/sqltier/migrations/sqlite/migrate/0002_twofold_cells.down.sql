DROP TABLE twofold_cells;
